//! x
pub struct Admin;
pub struct BrokerNode;
pub struct Cluster;
pub struct Isolation;
pub struct Position;

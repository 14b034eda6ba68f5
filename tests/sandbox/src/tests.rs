mod catalog;
mod grants;
mod hostile;
mod neighbours;
mod output;
mod sink;
mod stop;
mod well_behaved;

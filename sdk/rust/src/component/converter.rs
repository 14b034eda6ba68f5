//! `converter`: one instance is a converter of a task.

use super::slot::{Slot, lend};
use super::{Component, Exports, find_one};
use crate::bindings::base::bulkhead::connect::types::{Config, Error as WitError};
use crate::bindings::converter::exports::bulkhead::connect::converter as wit;
use crate::converter::{ConverterDriver, Role};
use crate::logging;

thread_local! {
    static CONVERTER: Slot<ConverterDriver> = const { Slot::new() };
}

impl<C: Component> wit::Guest for Exports<C> {
    async fn configure(plugin: String, config: Config, role: wit::Role) -> Result<(), WitError> {
        logging::init();
        let role = Role::from(role);
        let plugin = find_one::<C>(&plugin, |plugin| plugin.converts(role))?;
        let started = plugin.start_converter(config.into_iter().collect(), role).await?;
        CONVERTER.with(|slot| slot.put(started));
        Ok(())
    }

    async fn from_connect(batch: wit::ValueBatch) -> Result<wit::Converted, WitError> {
        Ok(lend(&CONVERTER, async |started| started.from_connect(batch).await).await?)
    }

    async fn to_connect(batch: wit::ValueBatch) -> Result<wit::Converted, WitError> {
        Ok(lend(&CONVERTER, async |started| started.to_connect(batch).await).await?)
    }
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::test::block_on;

    use super::super::Plugin;
    use super::*;

    /// Has no settings.
    #[derive(Config)]
    struct Nothing {}

    /// Puts its own name before texts.
    struct Named<const NAME: char>;

    impl<const NAME: char> Converter for Named<NAME> {
        type Config = Nothing;

        async fn start(_: Nothing, _: Role) -> Result<Self> {
            Ok(Self)
        }

        async fn from_connect(&mut self, item: &ConverterItem<'_>, kafka: &mut KafkaBytes<'_>) -> Result<()> {
            kafka.set(format!("{NAME}{}", item.payload().as_text().unwrap_or_default()));
            Ok(())
        }

        async fn to_connect(&mut self, _: &ConverterItem<'_>, _: &mut ConnectValue<'_>) -> Result<()> {
            Ok(())
        }
    }

    struct OneNameTwice;

    impl Component for OneNameTwice {
        fn plugins() -> Vec<Plugin> {
            vec![Plugin::converter::<Named<'c'>>("X", "1"), Plugin::header_converter::<Named<'h'>>("X", "1")]
        }
    }

    #[test]
    fn the_role_tells_plugins_of_one_name_apart() {
        for (role, bytes) in [(wit::Role::Key, b"ca"), (wit::Role::Value, b"ca"), (wit::Role::Header, b"ha")] {
            let configured = <Exports<OneNameTwice> as wit::Guest>::configure("X".to_owned(), Vec::new(), role);
            block_on(configured).expect("there is one for each role");
            let batch = wit::ValueBatch {
                count: 1,
                topics: vec!["t".to_owned()],
                schemas: Vec::new(),
                topic: Vec::new(),
                header_keys: Vec::new(),
                header_key: Vec::new(),
                items: wit::Values { encoding: vec![2], schema: Vec::new(), len: vec![1] },
                data: b"a".to_vec(),
            };
            let converted = block_on(<Exports<OneNameTwice> as wit::Guest>::from_connect(batch));
            assert_eq!(converted.map(|converted| converted.data), Ok(bytes.to_vec()));
        }
    }
}

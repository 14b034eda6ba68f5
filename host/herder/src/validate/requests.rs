//! The way of a configuration through validation: look up the class, ask the plugin, judge.

use std::sync::Arc;

use bulkhead_model::plugin::{CONNECTOR_VERSION, PluginDesc, Unresolved};
use bulkhead_model::work::{Command, Validation, ValidationError};
use bulkhead_model::{ConfigPatch, ConnectorName};

use super::infos::ConfigInfos;
use super::judge::{Case, judge, wrong_version};
use super::plugins::Defaults;
use super::references::with_references;
use crate::Herder;
use crate::api::{Refusal, Reply, RequestId};
use crate::questions::Question;

/// A configuration whose class is known.
#[derive(Debug)]
pub(crate) struct Submission {
    pub(crate) config: ConfigPatch,
    pub(crate) plugin: Arc<PluginDesc>,
}

/// What is to be done about a configuration.
#[derive(Debug)]
pub(crate) enum Preparation {
    /// The plugin must be asked.
    Ask(Submission),
    /// It need not.
    Answer(ConfigInfos),
}

impl Herder {
    pub(crate) fn validate_config(&mut self, id: RequestId, config: ConfigPatch) {
        match self.prepare_validation(config) {
            Ok(Preparation::Ask(submission)) => self.ask(submission, |submission| Question::Judgement(id, submission)),
            Ok(Preparation::Answer(infos)) => self.reply(id, Ok(Reply::Validated(infos))),
            Err(refusal) => self.reply(id, Err(refusal)),
        }
    }

    pub(crate) fn ask_validation(&mut self, name: &ConnectorName, submission: Submission) {
        self.ask(submission, |submission| Question::Validation(name.clone(), submission));
    }

    fn ask(&mut self, submission: Submission, question: impl FnOnce(Submission) -> Question) {
        let config =
            submission.config.iter().filter_map(|(key, value)| Some((key.as_str(), value.as_deref()?))).collect();
        let token = self.questions.ask(question(submission));
        self.command(Command::Validate { token, config });
    }

    /// Finds the plugin that the configuration names.
    pub(crate) fn prepare_validation(&self, config: ConfigPatch) -> Result<Preparation, Refusal> {
        let Some(class) = config.get("connector.class").and_then(Option::as_deref) else {
            return Err(Refusal::BadRequest(
                "Connector config contains no connector type (connector.class)".to_owned(),
            ));
        };
        let latest = match self.plugins.connector(class.trim()) {
            Ok(plugin) => plugin,
            Err(unresolved) => return Err(Refusal::BadRequest(self.unknown_class(class, &unresolved))),
        };
        let wanted = config.get(CONNECTOR_VERSION).and_then(Option::as_deref);
        let plugin = self.plugins.resolve_version(&latest.class, &[latest.kind], wanted).unwrap_or(latest);
        let submission = Submission { plugin: Arc::clone(plugin), config };
        match wrong_version(&self.case(&submission)) {
            Some(infos) => Ok(Preparation::Answer(infos)),
            None => Ok(Preparation::Ask(submission)),
        }
    }

    fn unknown_class(&self, class: &str, unresolved: &Unresolved) -> String {
        match unresolved {
            Unresolved::Unknown => {
                let connectors =
                    self.plugins.iter().filter(|plugin| self.plugins.connector(&plugin.class) == Ok(plugin));
                let known: Vec<_> = connectors.map(|plugin| plugin.class.as_str()).collect();
                format!("Connector class {class} was not found; known connector classes: {}", known.join(", "))
            }
            Unresolved::Ambiguous(classes) => {
                format!("Connector class {class} may be any of {}; use the full name", classes.join(", "))
            }
            Unresolved::NoSuchVersion(other) => format!("Connector class {class}: {other}"),
        }
    }

    pub(crate) fn judge(
        &self,
        submission: &Submission,
        answer: Result<Validation, ValidationError>,
    ) -> Result<ConfigInfos, Refusal> {
        match answer {
            Ok(validation) => Ok(self.judge_resolved(submission, &validation)),
            Err(ValidationError::UnknownClass(message)) => Err(Refusal::BadRequest(message)),
            Err(ValidationError::Failed(message)) => Err(Refusal::Failed(message)),
        }
    }

    /// References count as what they stand for, but are shown as they were given.
    fn judge_resolved(&self, submission: &Submission, validation: &Validation) -> ConfigInfos {
        let config = validation.resolution.apply_to_patch(&submission.config);
        let infos = judge(&Case { config: &config, ..self.case(submission) }, validation);
        with_references(infos, &submission.config, &validation.resolution)
    }

    fn case<'a>(&'a self, submission: &'a Submission) -> Case<'a> {
        Case {
            catalog: &self.plugins,
            defaults: Defaults::of(&self.settings),
            plugin: &submission.plugin,
            config: &submission.config,
            overrides: &self.settings.overrides,
            in_cluster: self.settings.mode.cluster().is_some(),
        }
    }
}

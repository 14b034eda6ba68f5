//! The files of plugins, as REST shows them and adds to them.

use std::sync::Arc;

use bulkhead_rest::{BoxFuture, Installed, PluginFile, PluginFiles, PluginUpload, UploadError};
use bulkhead_sandbox::{InstallError, Sandbox, Upload, Uploaded, Uploads};

/// Those of this worker's sandbox.
pub struct PluginFolder(pub Arc<Sandbox>);

/// One that is being handed in.
struct Incoming(Upload);

impl PluginFiles for PluginFolder {
    fn list(&self) -> Vec<PluginFile> {
        self.0.plugin_files().into_iter().map(shown).collect()
    }

    fn max_bytes(&self) -> Option<u64> {
        match self.0.uploads() {
            Uploads::Refused => None,
            Uploads::Taken { max_bytes } => Some(max_bytes),
        }
    }

    fn begin(&self) -> BoxFuture<'_, Result<Box<dyn PluginUpload>, UploadError>> {
        Box::pin(async {
            let upload = self.0.upload().await.map_err(refused)?;
            Ok(Box::new(Incoming(upload)) as Box<dyn PluginUpload>)
        })
    }
}

impl PluginUpload for Incoming {
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), UploadError>> {
        Box::pin(async { self.0.write(bytes).await.map_err(refused) })
    }

    fn install(self: Box<Self>) -> BoxFuture<'static, Result<Installed, UploadError>> {
        Box::pin(async {
            let Uploaded { file, is_new } = self.0.install().await.map_err(refused)?;
            Ok(Installed { file: shown(file), is_new })
        })
    }
}

fn shown(file: bulkhead_sandbox::PluginFile) -> PluginFile {
    let bulkhead_sandbox::PluginFile { path, digest, plugins, faults } = file;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    PluginFile { name, digest, plugins, faults: faults.iter().map(ToString::to_string).collect() }
}

fn refused(error: InstallError) -> UploadError {
    let message = error.to_string();
    match error {
        InstallError::Busy => UploadError::Busy(message),
        InstallError::NoFolder(_) | InstallError::Taken(_) => UploadError::Conflict(message),
        InstallError::Unusable(_) => UploadError::Unusable(message),
        InstallError::Io(_) => UploadError::Failed(message),
    }
}

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

use bulkhead_sdk::prelude::*;

/// How much is kept before it is written to the file.
const BUFFER: usize = 128 * 1024;

/// Where lines go.
#[derive(Debug)]
pub enum Output {
    /// To the end of a file.
    File(BufWriter<File>),
    /// To the connector's log: there is no standard output in a sandbox.
    Log,
}

impl Output {
    /// Opens the file, or makes it; what is in it stays. A last line without an end, which a crash may have left, gets one,
    /// so that it spoils no line of ours.
    pub fn open(path: Option<&str>) -> Result<Self> {
        let Some(path) = path.filter(|path| !path.is_empty()) else { return Ok(Self::Log) };
        let mut options = File::options();
        let mut file = options.create(true).read(true).append(true).open(path).map_err(|error| refused(path, error))?;
        if !ends_whole(&mut file).map_err(|error| refused(path, error))? {
            file.write_all(b"\n").map_err(|error| refused(path, error))?;
        }
        Ok(Self::File(BufWriter::with_capacity(BUFFER, file)))
    }

    /// Writes one line; it may stay in the buffer until the next [`flush`](Self::flush).
    pub fn line(&mut self, line: &[u8]) -> io::Result<()> {
        match self {
            Self::File(file) => {
                file.write_all(line)?;
                file.write_all(b"\n")
            }
            Self::Log => {
                info!("{}", String::from_utf8_lossy(line));
                Ok(())
            }
        }
    }

    /// Hands everything to the file.
    pub fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Log => Ok(()),
        }
    }
}

/// Whether the file is empty or its last line has an end.
fn ends_whole(file: &mut File) -> io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(true);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

/// In a sandbox a folder that isn't granted looks as if it weren't there, so the message names both.
fn refused(path: &str, error: io::Error) -> Error {
    let hint = match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => {
            ": its folder must exist, and be granted for writing by sandbox.files"
        }
        _ => "",
    };
    Error::config("file")(error).context(format!("cannot write to `{path}`{hint}"))
}

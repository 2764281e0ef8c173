//! A program with its arguments, in the form that the kernel reads.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;
use std::ptr;

use rustix::io::Errno;

/// The search path for bare names if the environment has no `PATH`.
const USUAL_PATH: &[u8] = b"/bin:/usr/bin";
const SHELL: &std::ffi::CStr = c"/bin/sh";

/// A program with its arguments, environment and directory.
#[derive(Debug)]
pub(crate) struct Image {
    /// The candidate paths of the program, in order.
    candidates: Vec<CString>,
    arguments: Strings,
    environment: Strings,
    directory: Option<CString>,
}

/// C strings, and the null-terminated array of pointers to them that the kernel reads.
#[derive(Debug)]
struct Strings {
    _texts: Vec<CString>,
    pointers: Vec<*const libc::c_char>,
}

impl Strings {
    fn new(texts: Vec<CString>) -> Self {
        let pointers = texts.iter().map(|text| text.as_ptr());
        Self {
            pointers: pointers.chain([ptr::null()]).collect(),
            _texts: texts,
        }
    }
}

impl Image {
    /// Prepares the start of a program; a bare name is searched in the `PATH` of its environment.
    ///
    /// # Errors
    /// Returns an error if a string contains a NUL.
    pub(crate) fn new(
        program: &Path,
        args: &[OsString],
        env: &[(OsString, OsString)],
        cwd: Option<&Path>,
    ) -> io::Result<Self> {
        let arguments = std::iter::once(program.as_os_str()).chain(args.iter().map(AsRef::as_ref));
        let arguments = arguments.map(text).collect::<io::Result<Vec<_>>>()?;
        // The last value of a variable counts, as if the variables were set one after another.
        let last = env
            .iter()
            .enumerate()
            .filter(|(at, (name, _))| env.iter().skip(at + 1).all(|(other, _)| other != name));
        let environment = last.map(|(_, (name, value))| {
            text(&[name.as_os_str(), value.as_os_str()].join(OsStr::new("=")))
        });
        Ok(Self {
            candidates: candidates(program, env)?,
            arguments: Strings::new(arguments),
            environment: Strings::new(environment.collect::<io::Result<Vec<_>>>()?),
            directory: cwd.map(|cwd| text(cwd.as_os_str())).transpose()?,
        })
    }

    /// Changes to the program's directory. Makes only system calls.
    pub(super) fn enter_directory(&self) -> Result<(), Errno> {
        self.directory
            .as_deref()
            .map_or(Ok(()), rustix::process::chdir)
    }

    /// Replaces the calling process by the program, or returns the error. Makes only system calls.
    pub(crate) fn run(&self) -> Errno {
        let mut refused = Errno::NOENT;
        for candidate in &self.candidates {
            match self.execute(candidate) {
                Errno::NOENT | Errno::NOTDIR => {}
                Errno::ACCESS => refused = Errno::ACCESS,
                error => return error,
            }
        }
        refused
    }

    #[expect(
        unsafe_code,
        reason = "becoming another program takes pointers to texts, and has no wrapper without allocation"
    )]
    fn execute(&self, path: &CString) -> Errno {
        let environment = self.environment.pointers.as_ptr();
        // SAFETY: the arrays are null-terminated and point to strings that `self` owns, and `path` is such a string.
        unsafe {
            libc::execve(path.as_ptr(), self.arguments.pointers.as_ptr(), environment);
        }
        let error = last_error();
        if error != Errno::NOEXEC {
            return error;
        }
        // A file without an interpreter line is a script of the shell.
        let mut arguments = [ptr::null(); MOST_SHELL_ARGUMENTS];
        let given = self.arguments.pointers.iter().skip(1);
        let filled = [SHELL.as_ptr(), path.as_ptr()];
        let filled = filled.iter().chain(given);
        if self.arguments.pointers.len() + 1 > MOST_SHELL_ARGUMENTS {
            return Errno::TOOBIG;
        }
        for (place, argument) in arguments.iter_mut().zip(filled) {
            *place = *argument;
        }
        // SAFETY: as above; the array was checked to contain the final null.
        unsafe {
            libc::execve(SHELL.as_ptr(), arguments.as_ptr(), environment);
        }
        last_error()
    }
}

/// The maximum number of arguments of a script without an interpreter line, including its name and the shell's.
const MOST_SHELL_ARGUMENTS: usize = 1024;

fn last_error() -> Errno {
    let error = io::Error::last_os_error();
    Errno::from_io_error(&error).unwrap_or(Errno::INVAL)
}

fn candidates(program: &Path, env: &[(OsString, OsString)]) -> io::Result<Vec<CString>> {
    let name = program.as_os_str().as_bytes();
    if name.contains(&b'/') || name.is_empty() {
        return Ok(vec![text(program.as_os_str())?]);
    }
    let path = env.iter().rev().find(|(name, _)| name == "PATH");
    let path = path.map_or(USUAL_PATH, |(_, path)| path.as_bytes());
    let places = path.split(|byte| *byte == b':').map(|place| {
        let place = if place.is_empty() { b"." } else { place };
        let path = [place, name].join(&b'/');
        text(&OsString::from_vec(path))
    });
    places.collect()
}

fn text(text: &OsStr) -> io::Result<CString> {
    Ok(CString::new(text.as_bytes())?)
}

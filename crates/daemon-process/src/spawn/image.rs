//! A program with its arguments, in the form the kernel takes.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;
use std::ptr;

use rustix::io::Errno;

/// Where bare names are looked up when the environment has no `PATH`.
const USUAL_PATH: &[u8] = b"/bin:/usr/bin";
const SHELL: &std::ffi::CStr = c"/bin/sh";

/// A program, its arguments, its environment and its directory.
#[derive(Debug)]
pub(crate) struct Image {
    /// Where the program may be, in order.
    candidates: Vec<CString>,
    arguments: Strings,
    environment: Strings,
    directory: Option<CString>,
}

/// Texts with the array of pointers to them that the kernel reads, which ends with a null.
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
    /// Puts together what a program is started with; a bare name is looked up in the `PATH` of its environment.
    ///
    /// # Errors
    /// A text holds a NUL.
    pub(crate) fn new(
        program: &Path,
        args: &[OsString],
        env: &[(OsString, OsString)],
        cwd: Option<&Path>,
    ) -> io::Result<Self> {
        let arguments = std::iter::once(program.as_os_str()).chain(args.iter().map(AsRef::as_ref));
        let arguments = arguments.map(text).collect::<io::Result<Vec<_>>>()?;
        // The last value of a name counts, as where variables are set one after another.
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

    /// Goes to the program's directory; makes system calls only.
    pub(super) fn enter_directory(&self) -> Result<(), Errno> {
        self.directory
            .as_deref()
            .map_or(Ok(()), rustix::process::chdir)
    }

    /// Becomes the program, or says why not; makes system calls only.
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
        // SAFETY: the arrays end with a null and point to texts that `self` owns, and `path` is such a text.
        unsafe {
            libc::execve(path.as_ptr(), self.arguments.pointers.as_ptr(), environment);
        }
        let error = last_error();
        if error != Errno::NOEXEC {
            return error;
        }
        // What has no line that names its interpreter is a script of the shell.
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
        // SAFETY: as above; the array was checked to hold the final null.
        unsafe {
            libc::execve(SHELL.as_ptr(), arguments.as_ptr(), environment);
        }
        last_error()
    }
}

/// How many arguments a script without an interpreter's name may have, with its own name and the shell's.
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

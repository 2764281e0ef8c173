//! A GitHub with repositories: git over HTTP with a token, and the API of the fake, at one address.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use daemon_fakes::GithubApi;

use crate::world::cleared;

/// What a token may do with a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GitAccess {
    Read,
    Write,
}

/// Returns the access of a token.
type Access = dyn Fn(&str) -> Option<GitAccess> + Send + Sync;

/// The server. It ends with the test.
pub(crate) struct GitHttp {
    address: SocketAddr,
    /// The tokens that git presented.
    seen: Arc<Mutex<Vec<String>>>,
}

struct Server {
    root: PathBuf,
    api: SocketAddr,
    access: Box<Access>,
    seen: Arc<Mutex<Vec<String>>>,
}

struct Request {
    head: String,
    method: String,
    target: String,
    body: Vec<u8>,
}

impl GitHttp {
    /// Serves the repositories below `root` as `/owner/name.git`, and the API for everything else.
    pub(crate) fn start(
        root: &Path,
        api: &GithubApi,
        access: impl Fn(&str) -> Option<GitAccess> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("it is bound");
        let seen = Arc::<Mutex<Vec<String>>>::default();
        let server = Arc::new(Server {
            root: root.to_owned(),
            api: api.server().address(),
            access: Box::new(access),
            seen: Arc::clone(&seen),
        });
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let server = Arc::clone(&server);
                // A client that breaks its connection sees that itself.
                std::thread::spawn(move || server.serve(stream).unwrap_or_default());
            }
        });
        Self { address, seen }
    }

    /// Returns the URL of the server, of the API as well as of repositories.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the tokens that git presented.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().expect("no holder panics").clone()
    }
}

impl Server {
    fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        let request = read(&stream)?;
        let path = request.target.split('?').next().unwrap_or_default();
        if path.contains(".git/") {
            stream.write_all(&self.git(&request)?)
        } else {
            self.forward(&request, stream)
        }
    }

    /// Passes a request on to the API.
    fn forward(&self, request: &Request, mut stream: TcpStream) -> io::Result<()> {
        let mut api = TcpStream::connect(self.api)?;
        api.write_all(request.head.as_bytes())?;
        api.write_all(&request.body)?;
        io::copy(&mut api, &mut stream)?;
        stream.shutdown(Shutdown::Both)
    }

    fn git(&self, request: &Request) -> io::Result<Vec<u8>> {
        let Some(token) = token(request) else {
            return Ok(status(
                "401 Unauthorized",
                "WWW-Authenticate: Basic realm=\"GitHub\"\r\n",
            ));
        };
        self.seen
            .lock()
            .expect("no holder panics")
            .push(token.clone());
        let is_push = request.target.contains("git-receive-pack");
        match (self.access)(&token) {
            None => Ok(status(
                "401 Unauthorized",
                "WWW-Authenticate: Basic realm=\"GitHub\"\r\n",
            )),
            Some(GitAccess::Read) if is_push => Ok(status("403 Forbidden", "")),
            Some(_) => self.backend(request),
        }
    }

    /// Runs the program of git that serves repositories over HTTP.
    fn backend(&self, request: &Request) -> io::Result<Vec<u8>> {
        let (path, query) = request
            .target
            .split_once('?')
            .unwrap_or((&request.target, ""));
        let header = |name: &str| value(&request.head, name).unwrap_or_default();
        let mut child = cleared("git")
            .arg("http-backend")
            .env("GIT_PROJECT_ROOT", &self.root)
            .env("GIT_HTTP_EXPORT_ALL", "1")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("HOME", &self.root)
            .envs([("PATH_INFO", path), ("QUERY_STRING", query)])
            .envs([
                ("REQUEST_METHOD", request.method.as_str()),
                ("REMOTE_USER", "bot"),
            ])
            .env("CONTENT_TYPE", header("content-type"))
            .env("CONTENT_LENGTH", request.body.len().to_string())
            .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
            .env("GIT_PROTOCOL", header("git-protocol"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut stdin = child.stdin.take().expect("it is piped");
        let body = request.body.clone();
        let writer = std::thread::spawn(move || stdin.write_all(&body));
        let output = child.wait_with_output()?.stdout;
        // The program may end before it has read everything.
        writer
            .join()
            .expect("it does not panic")
            .unwrap_or_default();
        let end = output.windows(4).position(|four| four == b"\r\n\r\n");
        let (head, body) = output.split_at(end.map_or(output.len(), |at| at + 4));
        let head = String::from_utf8_lossy(head);
        let code = value(&head, "status").unwrap_or_else(|| "200 OK".to_owned());
        let length = body.len();
        let mut acc =
            format!("HTTP/1.1 {code}\r\nConnection: close\r\nContent-Length: {length}\r\n{head}")
                .into_bytes();
        acc.extend_from_slice(body);
        Ok(acc)
    }
}

fn status(line: &str, header: &str) -> Vec<u8> {
    format!("HTTP/1.1 {line}\r\n{header}Connection: close\r\nContent-Length: 0\r\n\r\n")
        .into_bytes()
}

/// Returns the value of a header.
fn value(head: &str, name: &str) -> Option<String> {
    let mut headers = head.lines().filter_map(|line| line.split_once(':'));
    let found = headers.find(|(found, _)| found.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.trim().to_owned())
}

/// Returns the token of a request of git: the password of the user `x-access-token`.
fn token(request: &Request) -> Option<String> {
    use base64::Engine as _;
    let header = value(&request.head, "authorization")?;
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(header.strip_prefix("Basic ")?)
        .ok()?;
    let pair = String::from_utf8(bytes).ok()?;
    Some(pair.strip_prefix("x-access-token:")?.to_owned())
}

fn read(stream: &TcpStream) -> io::Result<Request> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    let is_chunked = value(&head, "transfer-encoding").is_some();
    let mut body = Vec::new();
    if is_chunked {
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let length = u64::from_str_radix(line.trim_end(), 16).unwrap_or(0);
            reader.by_ref().take(length).read_to_end(&mut body)?;
            reader.read_line(&mut line)?;
            if length == 0 {
                break;
            }
        }
    } else {
        let length = value(&head, "content-length").and_then(|text| text.parse().ok());
        reader
            .by_ref()
            .take(length.unwrap_or(0))
            .read_to_end(&mut body)?;
    }
    let mut words = head.split(' ').map(str::to_owned);
    let mut word = || words.next().unwrap_or_default();
    let (method, target) = (word(), word());
    Ok(Request {
        head,
        method,
        target,
        body,
    })
}

/// Makes a bare copy of a repository that a server can have.
pub(crate) fn bare(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    let status = cleared("git")
        .args(["clone", "--quiet", "--bare"])
        .args([from, to])
        .status();
    assert!(status.is_ok_and(|status| status.success()), "git clone");
}

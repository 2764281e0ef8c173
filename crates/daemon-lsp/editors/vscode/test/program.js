// The program under test, and a folder with one daemon file.
'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { pathToFileURL } = require('node:url');

const ROOT = path.resolve(__dirname, '../../../../..');

/** The path of `daemon-run`. */
const PROGRAM = process.env.DAEMON_RUN ?? path.join(ROOT, 'target/debug/daemon-run');

/** A server that was built with `--release`, whose time is measured. */
const OPTIMISED = process.env.DAEMON_LSP;

const TEXT = `---
id: tidy
purpose: Keeps issues tidy.
watch:
  - when a pull request is opened by a bot
schedule: "0 30 14 * * 1-5"
routines:
  - label the issue
deny:
  - close issues
---
## Limits

- Ten.
`;

/** Creates a repository with one daemon file, and an empty home. */
function world() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'daemon-md-'));
  const daemon = path.join(folder, '.agents/daemons/tidy');
  fs.mkdirSync(daemon, { recursive: true });
  const file = path.join(daemon, 'DAEMON.md');
  fs.writeFileSync(file, TEXT);
  return {
    folder,
    file,
    uri: pathToFileURL(file).href,
    home: path.join(folder, 'home'),
    remove: () => fs.rmSync(folder, { recursive: true }),
  };
}

module.exports = { OPTIMISED, PROGRAM, ROOT, TEXT, world };

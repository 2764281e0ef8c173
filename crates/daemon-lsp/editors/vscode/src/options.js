// What the language client is started with, as data, so that tests can start it without an editor.
'use strict';

/** The files that the server reads. */
const PATTERN = '**/.agents/daemons/*/DAEMON.md';

/**
 * Returns the command that starts the server.
 *
 * @param {(name: string) => unknown} setting returns a setting of the section `daemon-md`
 * @returns {{ command: string, args: string[] }}
 */
function server(setting) {
  const text = (name) => {
    const value = setting(name);
    return typeof value === 'string' ? value.trim() : '';
  };
  const home = text('server.home');
  return {
    command: text('server.path') || 'daemon-run',
    args: home === '' ? ['lsp'] : ['--home', home, 'lsp'],
  };
}

/** Returns the documents that the client sends to the server. */
function documents() {
  return [{ scheme: 'file', pattern: PATTERN }];
}

module.exports = { PATTERN, server, documents };

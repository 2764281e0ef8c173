// Starts the language server of `daemon-run` for the daemon files of the workspace.
'use strict';

const vscode = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');
const { documents, server } = require('./options');

const SECTION = 'daemon-md';

/** @type {LanguageClient | undefined} */
let client;

async function start() {
  const configuration = vscode.workspace.getConfiguration(SECTION);
  const run = server((name) => configuration.get(name));
  client = new LanguageClient(
    SECTION,
    'DAEMON.md',
    // Without a transport the client uses standard input and output, and adds no `--stdio` to the arguments.
    run,
    { documentSelector: documents() },
  );
  try {
    await client.start();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    vscode.window.showErrorMessage(
      `\`${run.command}\` could not be started as the language server of DAEMON.md files: ${reason}. Set daemon-md.server.path.`,
    );
  }
}

async function stop() {
  const ended = client;
  client = undefined;
  if (ended?.needsStop()) {
    await ended.stop();
  }
}

async function restart() {
  await stop();
  await start();
}

/** @param {import('vscode').ExtensionContext} context */
async function activate(context) {
  context.subscriptions.push(
    vscode.commands.registerCommand('daemon-md.restart', restart),
    vscode.workspace.onDidChangeConfiguration(async (change) => {
      if (change.affectsConfiguration(`${SECTION}.server`)) {
        await restart();
      }
    }),
  );
  await start();
}

module.exports = { activate, deactivate: stop };

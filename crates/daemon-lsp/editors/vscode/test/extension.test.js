// The bundled extension with the real language client, in an editor without a window.
'use strict';

const assert = require('node:assert/strict');
const Module = require('node:module');
const test = require('node:test');
const editor = require('./vscode');
const { PROGRAM, TEXT, world } = require('./program');

/** Loads `dist/extension.js` with a module `vscode`. */
function load(vscode) {
  const path = require.resolve('../dist/extension.js');
  const original = Module._load;
  Module._load = (name, ...rest) => (name === 'vscode' ? vscode : original(name, ...rest));
  try {
    delete require.cache[path];
    return require(path);
  } finally {
    Module._load = original;
  }
}

test('an open daemon file has the diagnostics of the server, and the command starts it again', async () => {
  const here = world();
  const state = { settings: { 'daemon-md.server.path': PROGRAM, 'daemon-md.server.home': here.home }, documents: [] };
  const vscode = editor.create(state);
  state.documents.push(vscode.document(here.uri, TEXT));
  const extension = load(vscode.module);
  const context = { subscriptions: [] };
  await extension.activate(context);
  assert.deepEqual(vscode.errors, []);
  const [found] = await vscode.diagnostics(here.uri, (all) => all.length > 0);
  assert.equal(found.code?.value ?? found.code, 'D201');
  assert.equal(found.message, '`schedule` must have five fields, found six\nhelp: remove the seconds field');
  assert.deepEqual([found.range.start.line, found.range.start.character], [5, 11]);
  await vscode.commands.get('daemon-md.restart')();
  await vscode.diagnostics(here.uri, (all) => all.length > 0);
  await extension.deactivate();
  here.remove();
});

test('a program that cannot be started is an error that names the setting', async () => {
  const vscode = editor.create({ settings: { 'daemon-md.server.path': '/nonexistent/daemon-run' }, documents: [] });
  const extension = load(vscode.module);
  await extension.activate({ subscriptions: [] });
  const said = vscode.errors.join('\n');
  assert.match(said, /`\/nonexistent\/daemon-run` could not be started/);
  assert.match(said, /daemon-md\.server\.path/);
  await extension.deactivate();
});

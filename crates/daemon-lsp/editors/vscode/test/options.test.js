'use strict';

const assert = require('node:assert/strict');
const test = require('node:test');
const manifest = require('../package.json');
const { PATTERN, documents, server } = require('../src/options');

test('the settings choose the program and the home', () => {
  const of = (settings) => server((name) => settings[name]);
  assert.deepEqual(of({}), { command: 'daemon-run', args: ['lsp'] });
  assert.deepEqual(of({ 'server.path': ' ', 'server.home': 7 }), { command: 'daemon-run', args: ['lsp'] });
  assert.deepEqual(of({ 'server.path': '/opt/daemon run', 'server.home': '/srv/a home' }), {
    command: '/opt/daemon run',
    args: ['--home', '/srv/a home', 'lsp'],
  });
});

test('a workspace cannot choose the program', () => {
  const settings = manifest.contributes.configuration.properties;
  for (const name of ['server.path', 'server.home']) {
    assert.equal(settings[`daemon-md.${name}`].scope, 'machine');
  }
});

test('the extension starts where there are daemon files', () => {
  assert.deepEqual(manifest.activationEvents, [`workspaceContains:${PATTERN}`]);
  assert.deepEqual(documents(), [{ scheme: 'file', pattern: PATTERN }]);
});

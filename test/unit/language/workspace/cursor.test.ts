// The place of a cursor in YAML that is being typed.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cursorAt } from '../../../../src/language/workspace/cursor.ts';
import { Lines } from '../../../../src/language/workspace/text.ts';

/** `¦` is the cursor. */
function at(text: string): string {
  const offset = text.indexOf('¦');
  const lines = new Lines(text.replace('¦', ''));
  const cursor = cursorAt(lines, lines.positionAt(offset));
  return `${cursor.on} ${cursor.path.join('.')}${cursor.typed === '' ? '' : ` “${cursor.typed}”`}`;
}

describe('the place of a cursor', () => {
  for (const [text, expected] of [
    ['¦', 'key '],
    ['na¦', 'key  “na”'],
    ['name: ¦', 'value name'],
    ['name: de¦', 'value name “de”'],
    ['limits:\n  ¦', 'key limits'],
    ['limits:\n  st¦', 'key limits “st”'],
    ['model:\n  sampling:\n    temperature: 1\n  ¦', 'key model'],
    ['model:\n  sampling:\n    temperature: 1\n\n    ¦', 'key model.sampling'],
    ['tools:\n  ¦', 'key tools'],
    ['tools:\n  - ¦', 'key tools.0'],
    ['tools:\n  - module: a.ts\n  - ¦', 'key tools.1'],
    ['tools:\n  - module: a.ts\n  - mcp:\n      command: uvx\n    na¦', 'key tools.1 “na”'],
    ['tools:\n  - module: a.ts\n  - mcp:\n      ¦', 'key tools.1.mcp'],
    ['tools:\n- module: a.ts\n- mod¦', 'key tools.1 “mod”'],
    ['tools:\n- builtin:\n  - ¦', 'key tools.0.builtin.0'],
    ['tools:\n  - module: tools/¦', 'value tools.0.module “tools/”'],
    ['tools:\n  - builtin: [term¦]', 'key tools.0.builtin.0 “term”'],
    ['tools:\n  - builtin: [terminal, ¦]', 'key tools.0.builtin.1'],
    ['tools:\n  - { ¦ }', 'key tools.0'],
    ['tools:\n  - { module: ¦', 'value tools.0.module'],
    ['answer: { to¦ }', 'key answer “to”'],
    ['answer: { tool: sub¦ }', 'value answer.tool “sub”'],
    ['model: { endpoint: "${env:URL}", na¦ }', 'key model “na”'],
    ['model: { sampling: { temperature: 1 }, ¦ }', 'key model'],
    ['model:\n  endpoint: http://localhost:8000/v1\n  ¦', 'key model'],
    ['prompt: |\n  Say: hello\n  - and ¦', 'text prompt'],
    ['prompt: |\n  Say: hello\nlim¦', 'key  “lim”'],
    ['a: # what\n  ¦', 'key a'],
    ['model:\n  endpoint: ${env:¦', 'value model.endpoint “${env:”'],
    ['team:\n  members:\n    - agent: a.agent.yaml\n    - ¦', 'key team.members.1'],
  ] as const) {
    it(text.replaceAll('\n', '⏎'), () => assert.equal(at(text), expected));
  }
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { allowedEnvironment } from '../../../src/common/environment.ts';
import { abortedError } from '../../../src/tools/aborted.ts';
import { outcomeOf } from '../../../src/tools/mcp/convert.ts';
import { answerElicitation } from '../../../src/tools/mcp/elicitation.ts';
import { jsonResponse, textResponse } from '../../../src/tools/outcome.ts';
import { LastLines, Output } from '../../../src/tools/processes/output.ts';
import { ClassedError } from '../../../src/trace/classedError.ts';

const MIB = 1024 * 1024;

describe('a response', () => {
  it('is returned whole up to the limit', () => {
    assert.deepEqual(textResponse({ text: 'x'.repeat(MIB) }), { response: 'x'.repeat(MIB) });
    assert.deepEqual(jsonResponse({ text: '{"a":[1]}' }), { response: { a: [1] } });
  });

  it('over the limit is truncated between characters, and kept', () => {
    const text = `x${'ü'.repeat(MIB)}`;
    const { response, cut, full } = textResponse({ text });
    assert.equal(cut, 2 * MIB + 1 - MIB);
    assert.equal(full?.length, 2 * MIB + 1);
    assert.match(response as string, /^xü+\n\[1048577 more bytes were cut\]$/);
  });

  it('of JSON over the limit is text', () => {
    const { response, cut } = jsonResponse({ text: JSON.stringify(['x'.repeat(2 * MIB)]) });
    assert.equal(typeof response, 'string');
    assert.ok((cut ?? 0) > MIB);
  });

  it('counts what was not kept', () => {
    assert.equal(textResponse({ text: 'x'.repeat(2 * MIB), bytes: 10 * MIB }).cut, 9 * MIB);
  });
});

describe('output of a process', () => {
  it('is kept up to a limit, including between the bytes of a character', () => {
    const output = new Output(6);
    const bytes = Buffer.from('aüb€cd');
    for (const byte of bytes) output.push(Buffer.from([byte]));
    assert.equal(output.text, 'aüb');
    assert.equal(output.bytes, bytes.length);
    const small = new Output();
    small.push(Buffer.from('all'));
    assert.deepEqual([small.text, small.bytes], ['all', undefined]);
  });

  it('returns its last lines', () => {
    const lines = new LastLines();
    for (let i = 0; i < 5000; i++) lines.push(`line ${i}\n`);
    assert.equal(lines.last(2), 'line 4998\nline 4999');
    // What is left of a word may be the end of a secret.
    const long = new LastLines();
    long.push(`${'x'.repeat(9000)}the-end-of-a-secret and more`);
    assert.equal(long.last(9), '… and more');
  });
});

describe('the error of an aborted call', () => {
  const of = (reason: unknown): string => {
    const controller = new AbortController();
    controller.abort(reason);
    return abortedError(controller.signal).class;
  };
  it('is its reason', () => {
    assert.equal(of(new ClassedError('limit', 'steps')), 'limit');
    assert.equal(of(new DOMException('late', 'TimeoutError')), 'timeout');
    assert.equal(of(undefined), 'cancelled');
    assert.equal(of('stop'), 'cancelled');
  });
});

describe('the allowed environment', () => {
  it('holds what programs need, and the named variables', () => {
    const from = {
      PATH: '/bin',
      LC_ALL: 'C',
      TOKEN: 'x',
      Mine: 'y',
      EMPTY: undefined,
      AWS_SECRET_ACCESS_KEY: 'z',
      SystemRoot: 'C:\\Windows',
      NODE_EXTRA_CA_CERTS: '/ca.pem',
      HTTPS_PROXY: 'http://me:secret@proxy',
    };
    assert.deepEqual(allowedEnvironment(from, ['MINE']), {
      PATH: '/bin',
      LC_ALL: 'C',
      Mine: 'y',
      SystemRoot: 'C:\\Windows',
      NODE_EXTRA_CA_CERTS: '/ca.pem',
    });
  });
});

describe('the answer of an MCP tool', () => {
  it('is its text', () => {
    assert.deepEqual(
      outcomeOf({
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      }),
      { response: 'a\nb' },
    );
  });

  it('is its structure if the text repeats it, and its text if the structure does', () => {
    assert.deepEqual(
      outcomeOf({ content: [{ type: 'text', text: '{"b":1, "a":2}' }], structuredContent: { a: 2, b: 1 } }).response,
      { a: 2, b: 1 },
    );
    assert.deepEqual(
      outcomeOf({ content: [{ type: 'text', text: 'hi' }], structuredContent: { content: 'hi' } }).response,
      'hi',
    );
    assert.deepEqual(outcomeOf({ content: [], structuredContent: { a: 1 } }).response, { a: 1 });
    assert.deepEqual(outcomeOf({ content: [{ type: 'text', text: 'note' }], structuredContent: { a: 1 } }).response, {
      text: 'note',
      structured: { a: 1 },
    });
  });

  it('has images, audio, files, and links as parts', () => {
    const outcome = outcomeOf({
      content: [
        { type: 'image', data: 'AA==', mimeType: 'image/png' },
        { type: 'audio', data: 'AB==', mimeType: 'audio/wav' },
        { type: 'resource', resource: { uri: 'file:///a.txt', text: 'inside' } },
        { type: 'resource', resource: { uri: 'file:///b.jpg', blob: 'AC==', mimeType: 'image/jpeg' } },
        { type: 'resource_link', uri: 'file:///c', name: 'c' },
      ],
    });
    assert.equal(outcome.response, 'file:///a.txt:\ninside\nfile:///b.jpg\nc: file:///c');
    assert.deepEqual(outcome.parts, [
      { type: 'blob', mime_type: 'image/png', modality: 'image', content: 'AA==' },
      { type: 'blob', mime_type: 'audio/wav', modality: 'audio', content: 'AB==' },
      { type: 'blob', mime_type: 'image/jpeg', modality: 'image', content: 'AC==' },
      { type: 'uri', uri: 'file:///c' },
    ]);
  });
});

describe('an elicitation of an MCP server', () => {
  const elicit = (properties: Record<string, unknown>) =>
    answerElicitation({
      method: 'elicitation/create',
      params: { mode: 'form', message: 'Sure?', requestedSchema: { type: 'object', properties: properties as never } },
    });
  it('is answered with defaults when all fields have one', () => {
    assert.deepEqual(elicit({ name: { type: 'string', default: 'Ada' }, n: { type: 'integer', default: 3 } }), {
      action: 'accept',
      content: { name: 'Ada', n: 3 },
    });
  });
  it('is declined otherwise, and when it only asks for consent', () => {
    assert.deepEqual(elicit({ name: { type: 'string' }, n: { type: 'integer', default: 3 } }), { action: 'decline' });
    assert.deepEqual(elicit({}), { action: 'decline' });
    assert.deepEqual(
      answerElicitation({
        method: 'elicitation/create',
        params: { mode: 'url', message: 'Log in', url: 'https://example.com', elicitationId: '1' },
      }),
      { action: 'decline' },
    );
  });
});

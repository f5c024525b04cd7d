import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { publicUrl, secretsInUrl, visibleReason } from '../../../src/common/redaction/hidable.ts';
import { REDACTED, redactor } from '../../../src/common/redaction/redactor.ts';
import { RedactedStream } from '../../../src/common/redaction/stream.ts';
import { shortened } from '../../../src/common/text.ts';
import { workerFrame } from '../../../src/protocol/worker.ts';
import { EVENT_KINDS, eventDataSchema, tokenRecord } from '../../../src/trace/schema.ts';
import { encodingsOf } from '../../support/canary.ts';
import { Random } from '../../support/random.ts';

const SECRET = 'p/A+"s5~\\wörd w?=&%<x>';

describe('redaction', () => {
  it('finds a secret in every encoding, inside other text', () => {
    const secrets = redactor([SECRET]);
    for (const [name, encoded] of Object.entries(encodingsOf(SECRET))) {
      const clean = secrets.text(`before ${encoded} after`);
      assert.equal(clean, `before ${REDACTED} after`, `${name}: ${clean}`);
    }
  });

  it('leaves nothing of a secret in base64 of which it is a part', () => {
    const secrets = redactor(['sk-4b7e-quite-secret']);
    for (let before = 0; before < 6; before++) {
      const whole = Buffer.from(`${'x'.repeat(before)}sk-4b7e-quite-secret, and more`).toString('base64');
      const rest = secrets.text(whole).replace(REDACTED, '');
      assert.ok(whole.length - rest.length >= 26, rest);
    }
    const wrapped = Buffer.from(`${'y'.repeat(50)}sk-4b7e-quite-secret${'z'.repeat(50)}`)
      .toString('base64')
      .replaceAll(/(.{76})/g, '$1\n');
    assert.match(secrets.text(wrapped), /\[redacted\]/);
  });

  it('prefers the longest of several secrets, and hides overlapping ones', () => {
    const secrets = redactor(['secret-a', 'secret-a-longer', 'ger-and-more']);
    assert.equal(secrets.text('x secret-a-longer y secret-a z'), `x ${REDACTED} y ${REDACTED} z`);
    assert.equal(secrets.text('secret-a-longer-and-more').includes('more'), true, 'left to right');
  });

  it('changes strings and keys of JSON, and no number', () => {
    const secrets = redactor(['48151623', 'key-of-the-house']);
    const value = {
      pin: 48_151_623,
      text: 'PIN 48151623',
      'key-of-the-house': [1, null, true, { deep: 'a key-of-the-house!' }],
      'a key-of-the-house': 2,
    };
    assert.deepEqual(secrets.json(value), {
      pin: 48_151_623,
      text: `PIN ${REDACTED}`,
      [REDACTED]: [1, null, true, { deep: `a ${REDACTED}!` }],
      [`a ${REDACTED}`]: 2,
    });
    const clean = { a: ['b'] };
    assert.equal(secrets.json(clean), clean);
    assert.deepEqual(secrets.json({ 'key-of-the-house': 1, [REDACTED]: 2 }), { [REDACTED]: 1, [`${REDACTED} 2`]: 2 });
  });

  it('keeps hashes that contain a short number, but no hash that is a secret', () => {
    const hash = `${'ab'.repeat(28)}48151623`;
    assert.equal(redactor(['48151623']).text(hash), hash);
    assert.equal(redactor([hash]).text(hash), REDACTED);
  });

  it('keeps base64 of bytes that contains a short word by accident', () => {
    const bytes = `${'QUJD'.repeat(70)}pa55${'QUJD'.repeat(70)}==`;
    assert.equal(redactor(['pa55']).text(bytes), bytes);
    assert.equal(redactor(['pa55']).text('pa55'), REDACTED);
    assert.match(redactor(['pa55word']).text(bytes.replace('pa55', 'pa55word')), /\[redacted\]/);
  });

  it('hides the lines of a private key, and the password of a URL', () => {
    const key = `-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nBAQEFAASCBKcwggSjAgEAAo\n-----END KEY-----\n`;
    const secrets = redactor([key, 'postgres://desk:open-sesame@db:5432/loans']);
    assert.equal(secrets.text('  MIIEvQIBADANBgkqhkiG9w0,'), `  ${REDACTED},`);
    assert.equal(secrets.text(key), `${REDACTED}\n`);
    assert.equal(secrets.text('login with open-sesame failed'), `login with ${REDACTED} failed`);
  });

  it('says which values cannot be hidden', () => {
    for (const short of ['', 'abc', ' ab ']) assert.equal(visibleReason(short), 'short', short);
    for (const common of ['true', '5432', '0.5.0.0', 'LocalHost', '-----', 'assistant', 'tool'])
      assert.equal(visibleReason(common), 'common', common);
    for (const secret of ['hunter2', '481516', 'pa55', 'x-y-z']) assert.equal(visibleReason(secret), undefined, secret);
    assert.equal(redactor(['5432', 'true', 'abc']).text('5432 true abc'), '5432 true abc');
  });

  it('never garbles the format of events and frames', () => {
    const words = new Set<string>(EVENT_KINDS);
    const collect = (schema: unknown): void => {
      if (typeof schema !== 'object' || schema === null) return;
      if ('properties' in schema) for (const key of Object.keys(schema.properties ?? {})) words.add(key);
      if ('enum' in schema && Array.isArray(schema.enum)) for (const word of schema.enum) words.add(String(word));
      if ('const' in schema) words.add(String(schema.const));
      for (const member of Object.values(schema)) collect(member);
    };
    for (const schema of [...EVENT_KINDS.map(eventDataSchema), tokenRecord, workerFrame])
      collect(z.toJSONSchema(schema, { unrepresentable: 'any' }));
    assert.deepEqual(
      [...words].filter((word) => visibleReason(word) === undefined),
      [],
    );
  });
});

describe('redaction of a text in pieces', () => {
  it('hides a secret however it is split, and withholds little', () => {
    const random = new Random(5);
    for (const [name, encoded] of Object.entries(encodingsOf(SECRET))) {
      for (let round = 0; round < 20; round++) {
        const stream = new RedactedStream(redactor([SECRET]));
        const whole = `one ${encoded} two ${encoded}${encoded} three.`;
        let shown = '';
        for (let at = 0; at < whole.length; ) {
          const size = 1 + Math.floor(random.next() * 9);
          shown += stream.add(whole.slice(at, at + size));
          at += size;
        }
        shown += stream.end();
        assert.equal(
          shown.replaceAll(/\[redacted\](?:%3D)?/g, '*').replaceAll('**', '*'),
          'one * two * three.',
          `${name}: ${shown}`,
        );
      }
    }
    const stream = new RedactedStream(redactor([SECRET]));
    assert.equal(stream.add('A line of output.\n'), 'A line of output.\n');
  });

  it('hides the beginning of a secret where a text was cut off', () => {
    const secrets = redactor([SECRET]);
    for (const encoded of Object.values(encodingsOf(SECRET))) {
      const cut = secrets.cut(`a result ${encoded.slice(0, encoded.length - 3)}`);
      assert.match(cut, /^a result \[redacted\]/);
      assert.ok(cut.length <= `a result ${REDACTED}`.length + 8, cut);
    }
    assert.equal(secrets.cut('a plain end p/A'), 'a plain end p/A');
  });

  it('hides what remains of a secret that was cut before it was found', () => {
    const secrets = redactor([SECRET]);
    for (const encoded of Object.values(encodingsOf(SECRET))) {
      const text = `no JSON: ${'x'.repeat(20)} ${encoded}`;
      const message = `It says: ${shortened(text, text.length - 2)}. Try again… soon…`;
      for (const clean of [secrets.text(message), secrets.json({ message }).message]) {
        assert.match(clean, /^It says: no JSON: x+ \[redacted\].{0,8}…\. Try again… soon…$/s, clean);
        assert.ok(!clean.includes(encoded.slice(0, 8)), clean);
      }
    }
    const plain = 'a plain end p/A… and more';
    assert.equal(secrets.text(plain), plain);
  });

  it('shows what only looked like the beginning of a secret', () => {
    const stream = new RedactedStream(redactor(['abcabd-secret', 'ret-12345']));
    assert.equal(stream.add('xx abcab'), 'xx ');
    assert.equal(stream.add('c'), 'abc');
    assert.equal(stream.end(), 'abc');
    assert.equal(stream.add('abcabd-secret') + stream.add('-12345') + stream.end(), `${REDACTED}-12345`);
  });
});

describe('URLs', () => {
  const url =
    'https://desk:op%2Ben@host:8443/v1/k3y9d8f7a6s5d4f3a2/chat?api-version=2024-02-01&key=tiny&x=a1b2c3d4e5f6a7b8c9';

  it('have secret parts', () => {
    assert.deepEqual(secretsInUrl(url), ['op%2Ben', 'op+en', 'k3y9d8f7a6s5d4f3a2', 'tiny', 'a1b2c3d4e5f6a7b8c9']);
    assert.deepEqual(secretsInUrl('http://localhost:8000/v1'), []);
    assert.deepEqual(secretsInUrl('demo:?latency_ms=5'), []);
  });
  it('are shown without them', () => {
    assert.equal(publicUrl(url), 'https://host:8443/v1/…/chat');
    assert.equal(publicUrl('demo:?latency_ms=5'), 'demo:?latency_ms=5');
  });
});

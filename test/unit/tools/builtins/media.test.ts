import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { BuiltinSettings } from '../../../../src/config/schema/builtinSettings.ts';
import { openBuiltin } from '../../../../src/tools/builtins/open.ts';
import { PNG, wavFile } from '../../../support/officeFiles.ts';
import { isClass, startStub } from '../../../support/stubServer.ts';
import { callContext, callTool, type ToolBench, toolBench } from '../../../support/tools.ts';

let bench: ToolBench;
before(async () => {
  bench = await toolBench();
  await writeFile(path.join(bench.cwd, 'a.png'), PNG);
  await writeFile(path.join(bench.cwd, 'a.wav'), wavFile());
});
after(() => bench.close());

describe('image_recognition', () => {
  const callVision = async (vision: BuiltinSettings['vision'], image_urls: string[]): Promise<unknown> =>
    (
      await callTool(openBuiltin('vision', bench.environment, { vision }), 'image_recognition', {
        image_urls,
        question: 'What is it?',
      })
    ).response;

  it('sends images of files and URLs to a chat endpoint', async () => {
    await using model = await startStub(({ url, headers }, body, response) => {
      if (url === '/cat.jpg') {
        response.setHeader('content-type', 'image/jpeg').end('jpeg');
        return;
      }
      assert.deepEqual([url, headers.authorization], ['/v1/chat/completions', 'Bearer key']);
      assert.deepEqual(JSON.parse(body.toString()), {
        model: 'm',
        max_tokens: 9,
        messages: [
          {
            role: 'user',
            content: [
              { type: 'image_url', image_url: { url: `data:image/png;base64,${Buffer.from(PNG).toString('base64')}` } },
              {
                type: 'image_url',
                image_url: { url: `data:image/jpeg;base64,${Buffer.from('jpeg').toString('base64')}` },
              },
              { type: 'text', text: 'What is it?' },
            ],
          },
        ],
      });
      response.end(JSON.stringify({ choices: [{ message: { content: 'A pixel.' } }] }));
    });
    assert.equal(
      await callVision(
        { endpoint: `${model.url}/v1`, model: 'm', api_key: 'key', max_tokens: 9, private_addresses: true },
        ['a.png', `${model.url}/cat.jpg`],
      ),
      'A pixel.',
    );
    await assert.rejects(
      callVision({ endpoint: model.url, model: 'm' }, [`${model.url}/cat.jpg`]),
      isClass('tool_error', /this tool cannot access/),
    );
    await assert.rejects(
      callVision({ endpoint: model.url, model: 'm' }, ['a.wav']),
      isClass('tool_error', /"\.wav" is not supported\. Supported types: png/),
    );
    await assert.rejects(
      callVision({ endpoint: model.url, model: 'm' }, ['../a.png']),
      isClass('tool_error', /outside the working directory/),
    );
  });

  it("returns the model's answer", async () => {
    await using model = await startStub((_, __, response) => {
      response.writeHead(400).end('{"error":"this model sees nothing"}');
    });
    await assert.rejects(
      callVision({ endpoint: model.url, model: 'm' }, ['a.png']),
      isClass('tool_error', /The vision model returned status 400: this model sees nothing/),
    );
  });
});

describe('transcribe_audio', () => {
  it('sends recordings as forms, one after the other', async () => {
    const forms: unknown[] = [];
    await using whisper = await startStub(({ url, headers }, body, response) => {
      assert.equal(url, '/v1/audio/transcriptions');
      void new Response(new Uint8Array(body), { headers: { 'content-type': headers['content-type'] ?? '' } })
        // oxlint-disable-next-line typescript/no-deprecated -- deprecated for servers; the body is this test's own
        .formData()
        .then(async (form) => {
          const file = form.get('file');
          assert.ok(file instanceof File);
          forms.push([
            file.name,
            file.type,
            (await file.arrayBuffer()).byteLength,
            form.get('model'),
            form.get('language'),
            form.get('response_format'),
          ]);
          response.end(JSON.stringify({ text: `said ${forms.length}` }));
        });
    });
    const tools = openBuiltin('audio', bench.environment, {
      audio: { endpoint: `${whisper.url}/v1/`, model: 'whisper', language: 'en' },
    });
    assert.equal((await callTool(tools, 'transcribe_audio', { audio_urls: ['a.wav'] })).response, 'said 1');
    assert.equal(
      (await callTool(tools, 'transcribe_audio', { audio_urls: ['a.wav', 'a.wav'] })).response,
      '--- a.wav ---\nsaid 2\n\n--- a.wav ---\nsaid 3',
    );
    assert.deepEqual(
      forms,
      Array.from({ length: 3 }, () => ['a.wav', 'audio/wav', 8044, 'whisper', 'en', 'json']),
    );
  });

  it('fails when it is cancelled, or the endpoint is unreachable', async () => {
    const cancel = new AbortController();
    await using whisper = await startStub(() => {
      cancel.abort();
    });
    const audio = { endpoint: whisper.url, model: 'whisper' };
    await assert.rejects(
      callTool(
        openBuiltin('audio', bench.environment, { audio }),
        'transcribe_audio',
        { audio_urls: ['a.wav'] },
        callContext(cancel.signal),
      ),
      isClass('cancelled', /cancelled/),
    );
  });
});

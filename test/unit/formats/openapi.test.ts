// OpenAPI descriptions as modules of tools: the module passes the type checker, and its requests reach a real server.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import ts from 'typescript';
import { openApiTools } from '../../../src/formats/openapi/openapi.ts';
import { bundleModule } from '../../../src/tools/bundle.ts';
import { openTools } from '../../../src/tools/hosts.ts';
import { ClassedError } from '../../../src/trace/classedError.ts';
import { callTool, toolBench } from '../../support/tools.ts';

const root = path.join(import.meta.dirname, '..', '..', '..');
const folder = mkdtempSync(path.join(os.tmpdir(), 'openapi-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const PETS = `
openapi: 3.0.3
info: { title: "Pet's */ Store", version: "1.0" }
servers: [{ url: "https://{host}/v1", variables: { host: { default: pets.example.com } } }]
security: [{ key: [] }]
paths:
  /pets/{pet id}:
    parameters: [{ $ref: "#/components/parameters/Id" }]
    get:
      operationId: getPet
      summary: Gives a pet
      parameters: [{ name: tags, in: query, schema: { type: array, items: { type: string } } }, { name: fields, in: \
query, explode: false, schema: { type: array, items: { type: string } } }, { name: X-Trace, in: header, schema: { \
type: string, nullable: true } }]
    delete: { operationId: delete, security: [{ oauth: [] }] }
    put:
      requestBody: { required: true, content: { application/json: { schema: { $ref: "#/components/schemas/Pet" } } } }
  /pets:
    post:
      operationId: add pet!
      description: |
        Adds a pet.
        It's "new".
      security: []
      requestBody: { content: { application/x-www-form-urlencoded: { schema: { type: object, required: [name], \
properties: { name: { type: string, minLength: 1 }, n: { type: integer, minimum: 0, exclusiveMinimum: true, default: \
1 } } } } } }
  /photo: { post: { operationId: photo, requestBody: { content: { image/png: {} } } } }
  /broken: { get: { operationId: getPet } }
components:
  parameters: { Id: { name: "pet id", in: path, required: true, description: "Its number", schema: { type: integer } } }
  securitySchemes: { key: { type: apiKey, in: header, name: X-Key }, oauth: { type: oauth2, flows: {} } }
  schemas:
    Pet:
      type: object
      required: [name, kind]
      properties:
        id: { type: integer, readOnly: true }
        name: { type: string, pattern: "^[a-z]+$" }
        kind: { type: string, enum: [cat, dog] }
        born: { type: string, format: date }
        parent: { $ref: "#/components/schemas/Pet" }
        notes: { type: object, additionalProperties: { type: string } }
        "in-house": { type: boolean, default: false, description: "Lives \\"in\\"" }
        any: { oneOf: [{ type: string }, { $ref: "#/components/schemas/Size" }] }
        both: { allOf: [{ $ref: "#/components/schemas/Size" }, { type: object, properties: { unit: { type: string } } \
}] }
    Size: { type: object, properties: { w: { type: number, maximum: 9 } } }
`;

function write(name: string, text: string): { file: string; generated: ReturnType<typeof openApiTools> } {
  const generated = openApiTools(`${name}.yaml`, text);
  const file = path.join(folder, `${name}.ts`);
  writeFileSync(file, generated.code);
  return { file, generated };
}

describe('an OpenAPI description', () => {
  it('becomes a module that passes the strictest type check', () => {
    const files = [
      write('pets', PETS).file,
      write(
        'small',
        '{"openapi": "3.1.0", "info": {}, "paths": {"/now": {"get": {"parameters": [{"name": "at", "in": ' +
          '"query", "schema": {"type": ["string", "null"], "exclusiveMinimum": 1}}]}}}}',
      ).file,
    ];
    const program = ts.createProgram(files, {
      target: ts.ScriptTarget.ES2023,
      lib: ['lib.es2023.d.ts'],
      module: ts.ModuleKind.ESNext,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      strict: true,
      noUncheckedIndexedAccess: true,
      exactOptionalPropertyTypes: true,
      noUnusedLocals: true,
      noUnusedParameters: true,
      verbatimModuleSyntax: true,
      noEmit: true,
      skipLibCheck: true,
      types: ['node'],
      typeRoots: [path.join(root, 'node_modules', '@types')],
      paths: {
        'rollout-studio': [path.join(root, 'src', 'tools', 'sdk.ts')],
        zod: [path.join(root, 'node_modules', 'zod', 'index.d.ts')],
      },
    });
    assert.deepEqual(
      ts
        .getPreEmitDiagnostics(program)
        .map(
          (problem) => `${problem.file?.fileName ?? ''}: ${ts.flattenDiagnosticMessageText(problem.messageText, '\n')}`,
        ),
      [],
    );
  });

  it('reports its tools, their effects, its secrets, and what it omits', () => {
    const { generated } = write('pets', PETS);
    assert.deepEqual(
      generated.tools.map(({ name, operation, effect }) => `${name} ${operation} ${effect}`),
      [
        'getPet GET /pets/{pet id} pure',
        'put_pets_pet_id PUT /pets/{pet id} irreversible',
        'delete_2 DELETE /pets/{pet id} irreversible',
        'add_pet POST /pets irreversible',
        'getPet_2 GET /broken pure',
      ],
    );
    assert.deepEqual(generated.secrets, ['PET_S_STORE_API_KEY', 'PET_S_STORE_TOKEN']);
    assert.deepEqual(generated.skipped, [
      { operation: 'POST /photo', why: 'its body is image/png, but tools can send only JSON and URL-encoded forms' },
    ]);
    assert.equal(generated.baseUrl, 'https://pets.example.com/v1');
  });

  it('runs against the service: paths, queries, headers, bodies, secrets, failures', async () => {
    const { file } = write('pets', PETS);
    const seen: { line: string; headers: Record<string, unknown>; body: string }[] = [];
    const server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => {
        body += chunk.toString();
      });
      request.on('end', () => {
        seen.push({ line: `${request.method ?? ''} ${request.url ?? ''}`, headers: request.headers, body });
        if (request.method === 'DELETE') response.writeHead(409, { 'content-type': 'text/plain' }).end('has children');
        else
          response
            .writeHead(200, { 'content-type': 'application/json; charset=utf-8' })
            .end(JSON.stringify({ name: 'rex' }));
      });
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const bench = await toolBench();
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/`;
      const bundle = await bundleModule(file, folder);
      const blobs = new Map([
        [bundle.bundleSha, bundle.code],
        [bundle.mapSha, bundle.map],
      ]);
      const tools = await openTools(
        [
          {
            kind: 'module',
            module: { file: bundle.file, bundle: bundle.bundleSha, map: bundle.mapSha },
            secrets: { PET_S_STORE_URL: url, PET_S_STORE_API_KEY: 'k-1' },
          },
        ],
        {
          ...bench.environment,
          readBlob: (sha) => Promise.resolve(blobs.get(sha) ?? new Uint8Array()),
        },
      );
      assert.deepEqual(
        (await callTool(tools, 'getPet', { 'pet id': 7, tags: ['a b', 'c'], fields: ['x', 'y'], 'X-Trace': 't' }))
          .response,
        { name: 'rex' },
      );
      assert.deepEqual(
        [seen[0]?.line, seen[0]?.headers['x-key'], seen[0]?.headers['x-trace']],
        ['GET /v1/pets/7?tags=a+b&tags=c&fields=x%2Cy', 'k-1', 't'],
      );
      await callTool(tools, 'add_pet', { body: { name: 'rex' } });
      assert.deepEqual(
        [seen[1]?.line, seen[1]?.body, seen[1]?.headers['x-key']],
        ['POST /v1/pets', 'name=rex&n=1', undefined],
      );
      await callTool(tools, 'put_pets_pet_id', {
        'pet id': 7,
        body: { name: 'rex', kind: 'dog', parent: { name: 'mom', kind: 'dog' } },
      });
      assert.deepEqual(JSON.parse(seen[2]?.body ?? ''), {
        name: 'rex',
        kind: 'dog',
        parent: { name: 'mom', kind: 'dog', 'in-house': false },
        'in-house': false,
      });
      const parameters = tools.specs.find(({ name }) => name === 'getPet')?.parameters as {
        properties: Record<string, unknown>;
        required: string[];
      };
      assert.deepEqual(
        [parameters.properties['pet id'], parameters.required],
        [{ type: 'integer', description: 'Its number' }, ['pet id']],
      );
      await assert.rejects(
        callTool(tools, 'delete_2', { 'pet id': 7 }),
        (error) => error instanceof ClassedError && error.message.includes('needs the secret PET_S_STORE_TOKEN'),
      );
      await assert.rejects(
        callTool(tools, 'put_pets_pet_id', { 'pet id': 7, body: { name: 'Rex!', kind: 'dog' } }),
        (error) => error instanceof ClassedError && error.class === 'invalid_arguments',
      );
      const again = await openTools(
        [
          {
            kind: 'module',
            module: { file: bundle.file, bundle: bundle.bundleSha, map: bundle.mapSha },
            secrets: { PET_S_STORE_URL: url, PET_S_STORE_TOKEN: 't-1' },
          },
        ],
        {
          ...bench.environment,
          readBlob: (sha) => Promise.resolve(blobs.get(sha) ?? new Uint8Array()),
        },
      );
      await assert.rejects(
        callTool(again, 'delete_2', { 'pet id': 7 }),
        /DELETE \/pets\/\{pet id\} failed with status 409: has children/,
      );
      assert.equal(seen.at(-1)?.headers['authorization'], 'Bearer t-1');
      await Promise.all([tools.close(), again.close()]);
    } finally {
      await bench.close();
      server.close();
    }
  });

  it('is refused when it is invalid', () => {
    const refused = (text: string, pattern: RegExp): void =>
      assert.throws(() => openApiTools('api.yaml', text), pattern);
    refused('swagger: "2.0"', /Swagger 2\.0/);
    refused('a: [', /^StudioError: api\.yaml: /);
    refused('openapi: 3.0.0\npaths: {}', /no supported operations/);
    refused(
      'openapi: 3.0.0\npaths: { /a: { get: { parameters: [{ $ref: "#/x" }] } } }',
      /Cannot resolve the reference #\/x/,
    );
    refused(
      'openapi: 3.0.0\npaths: { /a: { get: { parameters: [{ $ref: "#/p/A" }] } } }\np: { A: { $ref: "#/p/B" }, ' +
        'B: { $ref: "#/p/A" } }',
      /is circular/,
    );
    refused('openapi: 3.0.0\npaths: { /a: { get: { parameters: [{ $ref: "other.yaml#/A" }] } } }', /other files/);
  });
});

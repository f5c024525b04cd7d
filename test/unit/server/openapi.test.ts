/** The published OpenAPI document against the routes that the server has. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { Validator } from '@cfworker/json-schema';
import { z } from 'zod';
import { OPERATIONS, openApi } from '../../../src/build/reference/openapi.ts';
import { RIGHTS, ROUTE_RIGHTS } from '../../../src/protocol/access.ts';
import { allRoutes } from '../../../src/server/routes/all.ts';

const route = z.object({ method: z.string(), path: z.string(), access: z.enum([...RIGHTS, 'anyone']) });
const operation = z.looseObject({
  summary: z.string().min(1),
  parameters: z.array(z.object({ name: z.string(), in: z.enum(['path', 'query']), schema: z.looseObject({}) }).loose()),
  responses: z.record(z.string(), z.looseObject({ description: z.string() })),
});
const documentShape = z.object({
  openapi: z.literal('3.1.0'),
  info: z.object({ title: z.string(), version: z.string(), description: z.string() }),
  security: z.array(z.unknown()),
  paths: z.record(z.string().startsWith('/v1/'), z.partialRecord(z.enum(['get', 'post', 'put', 'head']), operation)),
  components: z.object({ securitySchemes: z.looseObject({}), schemas: z.record(z.string(), z.looseObject({})) }),
});

/** The routes only keep their services, so nothing has to be there. */
function routes(): z.infer<typeof route>[] {
  const nothing = new Proxy({}, { get: () => nothing }) as never;
  return z.array(route.loose()).parse(
    allRoutes({
      services: nothing,
      tokens: nothing,
      logins: nothing,
      proxy: undefined,
      guard: { guarded: (handler: object, access: string) => ({ ...handler, access }) } as never,
      access: nothing,
      quota: nothing,
      scrape: nothing,
      openMetrics: false,
      programs: undefined,
      pages: '',
    }),
  );
}

describe('the OpenAPI document', () => {
  const document = documentShape.parse(openApi());

  it('has every route of the server below /v1, and no other, with what it needs', () => {
    const served = routes().filter(({ path }) => path.startsWith('/v1/'));
    assert.deepEqual(Object.keys(OPERATIONS).sort(), served.map(({ method, path }) => `${method} ${path}`).sort());
    assert.ok(served.length > 25);
    for (const { method, path, access } of served) {
      const written = path.replaceAll(/:(\w+)/g, '{$1}');
      const described = document.paths[written]?.[method.toLowerCase() as 'get'];
      assert.equal(described?.['description'], access === 'anyone' ? undefined : `Needs the right “${access}”.`, path);
    }
  });

  it('assigns each route of the server to one right, and no right to routes that do not exist', () => {
    assert.deepEqual(
      Object.keys(ROUTE_RIGHTS).sort(),
      routes()
        .map(({ method, path }) => `${method} ${path}`)
        .sort(),
    );
    const open = routes().filter(({ access }) => access === 'anyone');
    assert.deepEqual(
      open.map(({ path }) => path).filter((path) => path !== '/' && !path.startsWith('/view')),
      ['/healthz', '/readyz', '/v1/tickets/:ticket', '/v1/login'],
    );
    // What changes something needs more than reading.
    for (const { method, path, access } of routes())
      if (method === 'POST' || method === 'PUT')
        assert.ok(
          access !== 'read' || ['/v1/tickets', '/v1/blobs/texts', '/v1/batches/:batch/exports'].includes(path),
          `${method} ${path} needs ${access}`,
        );
  });

  it('names each part of a path, and refers only to schemas that it has', () => {
    for (const [path, methods] of Object.entries(document.paths))
      for (const { parameters } of Object.values(methods))
        assert.deepEqual(
          parameters.filter((one) => one.in === 'path').map(({ name }) => `{${name}}`),
          path.match(/\{\w+\}/g) ?? [],
        );
    const refs = JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/([^"]*)"/g);
    const names = new Set(Array.from(refs, ([, name = '']) => name));
    assert.ok(names.has('FinishedGroup') && names.has('Task') && names.has('Error'));
    for (const name of names) assert.ok(name in document.components.schemas, name);
  });

  it('has schemas that accept and refuse what the server does', () => {
    const refers = { $ref: '#/components/schemas/RequestGroup', components: document.components };
    const validator = new Validator(refers, '2020-12');
    const request = { batch: 'b1', group: 'step-1', task: 't1', size: 8 };
    assert.equal(validator.validate(request).valid, true);
    assert.equal(validator.validate({ ...request, task: { id: 't', question: '?', meta: {} } }).valid, true);
    for (const wrong of [{ size: 0 }, { group: 'a/b' }, { task: 7 }, { sizes: 8 }, { deadline_s: -1 }])
      assert.equal(validator.validate({ ...request, ...wrong }).valid, false, JSON.stringify(wrong));
  });

  it('is published', () => {
    const published: unknown = JSON.parse(readFileSync('docs/reference/openapi.json', 'utf8'));
    assert.deepEqual(published, JSON.parse(JSON.stringify(document)));
  });
});

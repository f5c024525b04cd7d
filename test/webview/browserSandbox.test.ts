// The built-in browser in the sandbox of its rollout: what its pages reach, and what is left of it.
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { z } from 'zod';
import { findProgram } from '../../src/build/system/programs.ts';
import type { SubmittedSandbox } from '../../src/config/submission.ts';
import { startChromium } from '../../src/tools/builtins/browser/chromium.ts';
import { browserAccess } from '../../src/tools/builtins/browser/network.ts';
import { openTools } from '../../src/tools/hosts.ts';
import { filterProblem, sandboxSupport } from '../../src/tools/sandbox/open.ts';
import { listeningPorts } from '../support/listeners.ts';
import { isClass, type StubServer, startStub } from '../support/stubServer.ts';
import { callTool, type ToolBench, toolBench } from '../support/tools.ts';

const support = await sandboxSupport();
const skip =
  process.platform === 'linux'
    ? support.works
      ? ((await filterProblem()) ?? false)
      : support.reason
    : 'the browser has a sandbox on Linux only';

describe('a browser in the sandbox', { skip, timeout: 120_000 }, () => {
  let bench: ToolBench;
  let site: StubServer;
  /** Stands for everything that belongs to others. */
  let outside = '';

  before(async () => {
    process.env['CHROME_PATH'] ??= findProgram('chromium');
    bench = await toolBench({ sandbox: 'required' });
    outside = await mkdtemp(path.join(os.tmpdir(), 'outside-'));
    await writeFile(path.join(outside, 'answer.txt'), 'the answer');
    site = await startStub(({ url = '' }, _, response) => {
      if (url === '/file')
        response.writeHead(200, { 'content-disposition': 'attachment; filename="data.csv"' }).end('a,b\n');
      else response.end('<title>Form</title><h1>Order</h1><a href="/file" download>File</a><input type=file>');
    });
  });
  after(async () => {
    await site[Symbol.asyncDispose]();
    await rm(outside, { recursive: true });
    await bench.close();
  });

  /** Nothing of it is left: neither processes nor files. */
  function assertGone(): void {
    assert.equal(bench.groups.size, 0);
    const name = path.basename(bench.cwd);
    assert.deepEqual(
      readdirSync(path.dirname(bench.cwd)).filter((each) => each.startsWith(`${name}.`)),
      [],
    );
  }

  it('sees the working directory, and no other files and processes', async () => {
    await writeFile(path.join(bench.cwd, 'own.txt'), 'its own file');
    const browser = await startChromium(
      bench.environment,
      browserAccess({}, { network: false }),
      new AbortController().signal,
    );
    try {
      const page = await browser.context.newPage();
      const read = async (file: string): Promise<string> => {
        await page.goto(`file://${file}`);
        return (await page.textContent('body')) ?? '';
      };
      assert.equal(await read(path.join(bench.cwd, 'own.txt')), 'its own file');
      for (const file of [
        path.join(outside, 'answer.txt'),
        `/proc/${process.pid}/environ`,
        path.join(os.homedir(), '.profile'),
      ])
        await assert.rejects(read(file), /ERR_FILE_NOT_FOUND/, file);
    } finally {
      await browser.end();
    }
    assertGone();
  });

  async function navigate(url: string, sandbox: Partial<SubmittedSandbox>, settings = {}): Promise<string> {
    const environment = { ...bench.environment, sandbox: { ...bench.environment.sandbox, ...sandbox } };
    const tools = await openTools([{ kind: 'builtin', name: 'browser', settings: { browser: settings } }], environment);
    try {
      return z.string().parse((await callTool(tools, 'browser_navigate', { url })).response);
    } finally {
      await tools.close();
      assertGone();
    }
  }

  it('reaches what programs reach, and with private_addresses this machine, too', async () => {
    const byName = site.url.replace('127.0.0.1', 'localhost');
    await assert.rejects(navigate(site.url, {}), isClass('tool_error', /`sandbox: \{ allow: \[…\] \}`/));
    assert.match(await navigate(byName, {}), /localhost is on this machine[^]*`sandbox: \{ allow: \[…\] \}`/);
    const allow = [new URL(byName).host];
    for (const url of [site.url, byName]) assert.match(await navigate(url, { allow }), /^Page: Form /);
    assert.match(await navigate(site.url, {}, { private_addresses: true }), /^Page: Form /);
    await assert.rejects(
      navigate(site.url, { network: true }),
      isClass('tool_error', /To allow it, set `private_addresses: true`/),
    );
  });

  it('has no network if the batch says so', async () => {
    await assert.rejects(
      navigate(site.url, { network: false }, { private_addresses: true }),
      isClass('tool_error', /has no network, because the batch file says `sandbox: \{ network: false \}`/),
    );
    const access = browserAccess({ private_addresses: true }, { network: false });
    const browser = await startChromium(bench.environment, access, new AbortController().signal);
    try {
      const page = await browser.context.newPage();
      await assert.rejects(page.goto(site.url), /ERR_\w+/);
      const own = await browser.context.newPage();
      await own.goto('data:text/html,<h1>of its own</h1>');
      assert.equal(await own.textContent('h1'), 'of its own');
    } finally {
      await browser.end();
    }
    assertGone();
  });

  it('has a proxy that nothing else reaches', async () => {
    const before = listeningPorts(process.pid);
    const access = browserAccess({}, { network: 'filtered', allow: [new URL(site.url).host] });
    const browser = await startChromium(bench.environment, access, new AbortController().signal);
    try {
      const page = await browser.context.newPage();
      await page.goto(site.url);
      assert.equal(await page.title(), 'Form');
      assert.deepEqual(listeningPorts(process.pid), before);
    } finally {
      await browser.end();
    }
    assertGone();
  });

  it('downloads into the working directory and uploads from it; a killed one is replaced', async () => {
    const tools = await openTools(
      [{ kind: 'builtin', name: 'browser', settings: { browser: { private_addresses: true } } }],
      bench.environment,
    );
    const call = async (name: string, args: Record<string, string | string[]>): Promise<string> =>
      z.string().parse((await callTool(tools, `browser_${name}`, args)).response);
    const refOf = (snapshot: string, text: string): string =>
      /\[ref=(\w+)\]/.exec(snapshot.split('\n').find((line) => line.includes(text)) ?? '')?.[1] ?? '';
    try {
      const page = await call('navigate', { url: site.url });
      await call('click', { element: 'the link', ref: refOf(page, 'File') });
      const file = path.join(bench.cwd, 'data.csv');
      while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 10));
      assert.equal(await readFile(file, 'utf8'), 'a,b\n');
      const [leader] = bench.groups;
      const groups = [...bench.groups];
      assert.ok(leader !== undefined && groups.length === 2, 'the sandbox and the browser');
      process.kill(-(groups.at(-1) ?? 0), 'SIGKILL');
      await assert.rejects(call('snapshot', {}), isClass('tool_error', /The browser has exited/));
      assert.match(await call('navigate', { url: site.url }), /^Page: Form /);
    } finally {
      await tools.close();
    }
    assertGone();
  });
});

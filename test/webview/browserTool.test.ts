// The built-in browser in a real Chromium, on pages served on loopback.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { findProgram } from '../../src/build/system/programs.ts';
import type { BrowserSettings } from '../../src/config/schema/builtinSettings.ts';
import type { ToolHost } from '../../src/rollout/ports.ts';
import { startChromium } from '../../src/tools/builtins/browser/chromium.ts';
import { browserAccess } from '../../src/tools/builtins/browser/network.ts';
import { openTools } from '../../src/tools/hosts.ts';
import { listeningPorts } from '../support/listeners.ts';
import { isClass, type StubServer, startStub } from '../support/stubServer.ts';
import { callContext, callTool, type ToolBench, toolBench } from '../support/tools.ts';

const FORM = `<title>Form</title><h1>Order</h1>
  <form onsubmit="out.textContent = 'sent ' + who.value + ' ' + size.value; return false">
    <label>Name <input id=who></label> <select id=size aria-label=Size><option value=s>small<option \
value=l>large</select> <button>Send</button>
  </form><p id=out></p><a href="/next">Next page</a><a href="/new" target=_blank>New tab</a><a href="/file" \
download>File</a>
  <button ondblclick="out.textContent = confirm('Sure?') ? 'twice, sure' : 'no'">Twice</button>
  <input type=file aria-label=Papers multiple onchange="out.textContent = [...this.files].map(({ name, size }) => \
name + ' ' + size)"><button onclick="one.click()">Choose</button>
  <input type=file id=one hidden onchange="out.textContent = 'one: ' + this.files[0].name"><button \
onmouseover="out.textContent = 'over it'">Menu</button>
  <input aria-label=Keys onkeydown="out.textContent += event.key">
  <div style="height: 3000px"></div><button onclick="out.textContent = 'far below'">Below</button>
  <iframe srcdoc="<button onclick=&quot;this.textContent = 'pressed'&quot;>Inside</button>"></iframe>
  <script>setTimeout(() => document.body.append('It came late.'), 300)</script>`;

const STUCK = `<title>Stuck</title><button onclick="while (true) {}">Spin</button><a href="/hang">Hang</a>
  <div style="position: relative"><button>Covered</button><div id=cover style="position: absolute; inset: \
0"></div></div>
  <div onclick="this.textContent = 'Folded'" style="cursor: pointer">Fold</div><input aria-label=Text value=old>`;

const onLinux = process.platform === 'linux' ? false : 'reads /proc';

let bench: ToolBench;
let site: StubServer;
let asked: string[] = [];

before(async () => {
  process.env['CHROME_PATH'] ??= findProgram('chromium');
  bench = await toolBench();
  site = await startStub(({ url = '' }, _, response) => {
    asked.push(url);
    response.setHeader('content-type', 'text/html; charset=utf-8');
    if (url === '/away') response.writeHead(302, { location: `http://localhost:${new URL(site.url).port}/next` }).end();
    else if (url === '/file')
      response
        .setHeader('content-disposition', 'attachment; filename="data.csv"')
        .setHeader('content-type', 'text/csv')
        .end('a,b\n');
    else if (url === '/stuck') response.end(STUCK);
    else if (url === '/slow') response.end('<title>Slow</title><h1>Nearly</h1><img src="/hang">');
    else if (url !== '/hang')
      response.end(url === '/' ? FORM : `<title>${url.slice(1)}</title><h1>This is ${url.slice(1)}</h1>`);
  });
});
after(async () => {
  assert.equal(bench.groups.size, 0, 'no browser is left');
  assert.equal(existsSync(`${bench.cwd}.browser`), false, 'no profile is left');
  await site[Symbol.asyncDispose]();
  await bench.close();
});

type Call = (name: string, args?: object, signal?: AbortSignal) => Promise<string>;

async function inBrowser(
  act: (call: Call, tools: ToolHost) => Promise<void>,
  settings: BrowserSettings = { private_addresses: true },
): Promise<void> {
  const tools = await openTools(
    [{ kind: 'builtin', name: 'browser', settings: { browser: settings } }],
    bench.environment,
  );
  try {
    await act(async (name, args = {}, signal) => {
      const { response, parts } = await callTool(
        tools,
        `browser_${name}`,
        args as never,
        signal === undefined ? undefined : callContext(signal),
      );
      const [part] = parts ?? [];
      const text = part?.type === 'blob' ? part.content : response;
      assert.ok(typeof text === 'string');
      return text;
    }, tools);
  } finally {
    await tools.close();
  }
}

/** The ref of the line with a text. */
function ref(snapshot: string, text: string): string {
  const line = snapshot.split('\n').find((one) => one.includes(text)) ?? '';
  const found = /\[ref=(\w+)\]/.exec(line)?.[1];
  assert.ok(found !== undefined, `${text} in\n${snapshot}`);
  return found;
}

/** IDs of the processes whose command line contains a text; none without /proc. */
function processesWith(text: string): number[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return pid !== process.pid && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(text);
      } catch {
        return false; // it has ended by now
      }
    });
}

/** Ends the processes of pages: the browser's main process shows which profile is theirs. */
function killRenderers(): void {
  const all = new Set(processesWith(`${bench.cwd}.browser`));
  const renderers = processesWith('--type=renderer').filter((pid) => all.has(pid));
  assert.ok(renderers.length > 0, 'no process of a page was found');
  for (const pid of renderers) process.kill(pid, 'SIGKILL');
}

describe('the built-in browser', { timeout: 180_000 }, () => {
  it('shows pages, and uses them by their refs', async () => {
    await inBrowser(async (call) => {
      const page = await call('navigate', { url: site.url });
      assert.match(page, /^Page: Form \(http:\/\/127\.0\.0\.1:\d+\/\)\n\n- heading "Order" \[level=1\] \[ref=e\d+\]\n/);
      assert.match(
        await call('type', { ref: ref(page, 'textbox "Name"'), text: 'Ada' }),
        /textbox "Name" \[ref=e\d+\]: Ada/,
      );
      await call('type', { ref: ref(page, 'textbox "Name"'), text: 'Eve' });
      assert.match(
        await call('select_option', { ref: ref(page, 'combobox "Size"'), values: ['large'] }),
        /^Selected: large\n/,
      );
      assert.match(await call('click', { ref: ref(page, 'button "Send"') }), /sent Eve l/);
      assert.match(await call('type', { ref: ref(page, 'textbox "Name"'), text: 'Bob', submit: true }), /sent Bob l/);
      assert.match(await call('click', { ref: ref(page, 'button "Below"') }), /far below/);
      assert.match(await call('click', { ref: ref(page, 'button "Inside"') }), /button "pressed"/);
      assert.match(
        await call('click', { ref: ref(page, 'button "Twice"'), doubleClick: true }),
        /The page showed a dialog \(confirm\): Sure\?\n[^]*twice, sure/,
      );
      assert.match(await call('type', { ref: ref(page, 'textbox "Keys"'), text: 'ab', slowly: true }), /twice, sureab/);
      assert.match(await call('press_key', { key: 'ArrowLeft' }), /twice, sureabArrowLeft/);
      assert.match(await call('wait_for', { text: 'It came late.' }), /It came late\./);
      assert.match(
        await call('click', { ref: ref(page, 'link "Next page"') }),
        /^Page: next [^]*heading "This is next"/,
      );
      assert.match(await call('navigate_back'), /^Page: Form /);
    });
  });

  it('takes pictures, downloads into the working directory, and has tabs', async () => {
    await inBrowser(async (call) => {
      const page = await call('navigate', { url: site.url });
      const sizes: number[] = [];
      for (const args of [{}, { fullPage: true }, { ref: ref(page, 'button "Send"') }]) {
        const png = Buffer.from(await call('take_screenshot', args), 'base64');
        assert.equal(png.subarray(1, 4).toString(), 'PNG');
        sizes.push(png.readUInt32BE(20));
      }
      const [view = 0, whole = 0, button = 0] = sizes;
      assert.ok(whole > 3000 && view < 1000 && button < 100, String(sizes));
      assert.match(await call('click', { ref: ref(page, 'link "New tab"') }), /The page has opened another tab/);
      // It exists immediately, its page when it is loaded.
      let list = await call('tabs', { action: 'list' });
      assert.match(list, /^0: \(current\) Form [^\n]+\n1: /);
      while (!list.includes('\n1: new ')) list = await call('tabs', { action: 'list' });
      await call('tabs', { action: 'select', index: 1 });
      assert.match(await call('snapshot'), /^Page: new /);
      assert.match(await call('tabs', { action: 'close' }), /^0: \(current\) Form /);
      assert.match(await call('tabs', { action: 'new' }), /^0: Form [^\n]+\n1: \(current\) about:blank$/);
      await call('tabs', { action: 'select', index: 0 });
      assert.match(
        await call('click', { ref: ref(page, 'link "File"') }),
        /Downloading to the working directory: data\.csv/,
      );
      const file = path.join(bench.cwd, 'data.csv');
      while (!existsSync(file)) await new Promise(setImmediate);
      assert.equal(await readFile(file, 'utf8'), 'a,b\n');
    });
  });

  it('uploads files, moves the mouse over elements, and runs functions', async () => {
    await writeFile(path.join(bench.cwd, 'a.txt'), 'abc');
    await writeFile(path.join(bench.cwd, 'b.txt'), 'de');
    await inBrowser(async (call) => {
      const page = await call('navigate', { url: site.url });
      assert.match(
        await call('file_upload', { paths: ['a.txt', 'b.txt'], ref: ref(page, 'Papers') }),
        /^Uploaded: a\.txt, b\.txt\n[^]*a\.txt 3,b\.txt 2/,
      );
      assert.match(
        await call('click', { ref: ref(page, 'button "Choose"') }),
        /The page is waiting for a file\. Upload one with browser_file_upload\./,
      );
      await assert.rejects(call('file_upload', { paths: ['a.txt', 'b.txt'] }), isClass('tool_error', /only one file/));
      assert.match(await call('file_upload', { paths: ['b.txt'] }), /one: b\.txt/);
      await assert.rejects(call('file_upload', { paths: ['b.txt'] }), isClass('tool_error', /not waiting for a file/));
      await assert.rejects(
        call('file_upload', { paths: ['a.txt'], ref: ref(page, 'textbox "Name"') }),
        isClass('tool_error', /is not a file field/),
      );
      await assert.rejects(
        call('file_upload', { paths: ['../a.txt'] }),
        isClass('tool_error', /outside the working directory/),
      );
      await assert.rejects(call('file_upload', { paths: ['c.txt'] }), isClass('tool_error', /no such file/));
      assert.match(await call('hover', { ref: ref(page, 'button "Menu"') }), /over it/);
      assert.equal(await call('evaluate', { function: '() => ({ sum: 1 + 1 })' }), '{\n  "sum": 2\n}');
      assert.equal(
        await call('evaluate', { function: 'async (button) => button.textContent', ref: ref(page, 'button "Send"') }),
        '"Send"',
      );
      await assert.rejects(
        call('evaluate', { function: '() => nothing' }),
        isClass('tool_error', /nothing is not defined/),
      );
    });
  });

  it('types what keys type, clicks elements with handlers, and reports what covers an element', async () => {
    await inBrowser(async (call) => {
      const page = await call('navigate', { url: `${site.url}/stuck` });
      await call('type', { ref: ref(page, 'textbox "Text"'), text: 'a', slowly: true });
      await call('press_key', { key: 'Ctrl+a' });
      await call('press_key', { key: 'é' });
      assert.match(await call('press_key', { key: 'Shift++' }), /textbox "Text" \[ref=e\d+\]: é\+/);
      assert.match(await call('click', { ref: ref(page, 'generic') }), /generic \[ref=e\d+\]: Folded/);
      await assert.rejects(
        call('click', { ref: ref(page, 'button "Covered"') }),
        isClass('tool_error', /cannot be used: [^]*<div id="cover"><\/div> intercepts pointer events/),
      );
    });
  });

  it('gives up pages that hang or never load', async () => {
    await inBrowser(async (call) => {
      for (const name of ['button "Spin"', 'link "Hang"']) {
        const page = await call('navigate', { url: `${site.url}/stuck` });
        await assert.rejects(
          call('click', { ref: ref(page, name) }, AbortSignal.timeout(1000)),
          isClass('timeout', /time limit/),
        );
        const now = call('snapshot', {}, AbortSignal.timeout(1000));
        if (name.startsWith('link')) assert.match(await now, /^Page: Loading [^]*\[the page has not responded yet\]$/);
        else await assert.rejects(now, isClass('timeout', /time limit/));
        assert.match(await call('navigate', { url: site.url }), /^Page: Form /);
      }
    });
  });

  it('uses a proxy where one is set', async () => {
    const through: string[] = [];
    const proxy = createServer(({ url = '', headers }, response) => {
      through.push(`${url} ${headers['proxy-authorization'] ?? ''}`);
      response.setHeader('content-type', 'text/html').end('<title>By proxy</title><h1>Far away</h1>');
    }).on('connect', ({ url = '' }, socket) => {
      through.push(`CONNECT ${url}`);
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
    });
    await new Promise<void>((resolve) => void proxy.listen(0, '127.0.0.1', resolve));
    const { port } = proxy.address() as AddressInfo;
    await inBrowser(
      async (call) => {
        assert.match(
          await call('navigate', { url: 'http://far.example/page' }),
          /^Page: By proxy \(http:\/\/far\.example\/page\)\n[^]*Far away/,
        );
        await assert.rejects(
          call('navigate', { url: 'https://far.example/' }),
          isClass('tool_error', /ERR_TUNNEL_CONNECTION_FAILED/),
        );
      },
      { proxy: `http://ada:secret@127.0.0.1:${port}` },
    );
    assert.ok(
      through.includes(`http://far.example/page Basic ${Buffer.from('ada:secret').toString('base64')}`),
      through.join('\n'),
    );
    assert.ok(through.includes('CONNECT far.example:443'));
    await new Promise((resolve) => {
      proxy.close(resolve);
      proxy.closeAllConnections();
    });
  });

  it('reports what is impossible, and continues', async () => {
    await inBrowser(async (call) => {
      const page = await call('navigate', { url: site.url });
      await assert.rejects(
        call('click', { ref: 'e999999' }),
        isClass('tool_error', /e999999 cannot be used: [^]*Take a new snapshot/),
      );
      await assert.rejects(call('click', { ref: 'button' }), isClass('invalid_arguments', /"button" is not a ref/));
      await assert.rejects(call('press_key', { key: 'Nokey' }), isClass('invalid_arguments', /Unknown key "Nokey"/));
      await assert.rejects(
        call('select_option', { ref: ref(page, 'combobox'), values: ['huge'] }),
        isClass('tool_error', /has no option huge/),
      );
      await assert.rejects(
        call('navigate', { url: 'file:///etc/passwd' }),
        isClass('invalid_arguments', /is not an http:\/\/ or https:\/\/ URL/),
      );
      await assert.rejects(
        call('navigate', { url: 'http://127.0.0.1:1/' }),
        isClass('tool_error', /cannot be shown: net::ERR/),
      );
      await assert.rejects(
        call('tabs', { action: 'select', index: 7 }),
        isClass('invalid_arguments', /no tab with this index/),
      );
      await assert.rejects(call('wait_for', {}), isClass('invalid_arguments', /one of `time`, `text`, and `textGone`/));
      await assert.rejects(
        call('navigate', { url: `${site.url}/hang` }, AbortSignal.timeout(500)),
        isClass('timeout', /time limit/),
      );
      assert.match(await call('navigate', { url: site.url }), /^Page: Form /);
      // A call that waits for another one has its own time-out.
      const stop = new AbortController();
      const long = assert.rejects(call('wait_for', { time: 60 }, stop.signal), isClass('cancelled', /cancelled/));
      await assert.rejects(call('snapshot', {}, AbortSignal.timeout(200)), isClass('timeout', /time limit/));
      stop.abort();
      await long;
    });
  });

  /** The site's request that shows that a call is running. */
  const reached = async (url: string): Promise<void> => {
    while (!asked.includes(url)) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  /** Calls during which a browser may die; each reports when it has begun. */
  const MIDDLES: readonly {
    readonly name: string;
    readonly begin: (
      call: Call,
      signal: AbortSignal,
    ) => { readonly call: Promise<string>; readonly there: Promise<unknown> };
  }[] = [
    {
      name: 'a function of the page',
      begin: (call, signal) => ({
        call: call('evaluate', { function: "() => fetch('/reached').then(() => new Promise(() => {}))" }, signal),
        there: reached('/reached'),
      }),
    },
    {
      name: 'a page that loads',
      begin: (call, signal) => ({
        call: call('navigate', { url: `${site.url}/slow` }, signal),
        there: reached('/hang'),
      }),
    },
    // Its turn comes when the previous one has ended.
    {
      name: 'a wait',
      begin: (call, signal) => {
        const before = call('snapshot');
        return { call: call('wait_for', { time: 300 }, signal), there: before.then(() => new Promise(setImmediate)) };
      },
    },
  ];
  const VICTIMS: readonly {
    readonly name: string;
    readonly kill: (group: number) => void;
    readonly error: RegExp;
    readonly skip?: string | false;
  }[] = [
    {
      name: 'its main process',
      kill: (group) => process.kill(group, 'SIGKILL'),
      error: /^The browser has exited\. The next call starts a new one\.$/,
    },
    {
      name: 'all its processes',
      kill: (group) => process.kill(-group, 'SIGKILL'),
      error: /^The browser has exited\. The next call starts a new one\.$/,
    },
    {
      name: 'the process of its page',
      kill: killRenderers,
      error: /^The page has crashed\. Load it again with browser_navigate\.$/,
      skip: process.platform === 'linux' ? false : 'processes are found in /proc',
    },
  ];
  for (const { name, kill, error, skip } of VICTIMS) {
    it(`${name} killed during a call: the call fails immediately, and the next one works`, {
      skip: (process.platform === 'win32' ? 'needs process groups' : skip) ?? false,
    }, async () => {
      await inBrowser(async (call) => {
        for (const middle of MIDDLES) {
          asked = [];
          assert.match(await call('navigate', { url: site.url }), /^Page: Form /);
          const [group] = bench.groups;
          assert.ok(group !== undefined);
          const begun = middle.begin(call, AbortSignal.timeout(25_000));
          const told = assert.rejects(begun.call, isClass('tool_error', error), middle.name);
          await begun.there;
          kill(group);
          await told;
        }
        assert.match(await call('tabs', { action: 'list' }), /^0: \(current\) /);
        assert.match(await call('navigate', { url: site.url }), /^Page: Form /);
      });
      assert.equal(bench.groups.size, 0);
      // Processes that lead no group are ended without waiting for them.
      while (processesWith(`${bench.cwd}.browser`).length > 0) await new Promise((resolve) => setTimeout(resolve, 20));
      assert.equal(existsSync(`${bench.cwd}.browser`), false);
    });
  }

  it('reaches neither this machine nor its network, unless that is allowed', async () => {
    asked = [];
    await inBrowser(async (call) => {
      await assert.rejects(
        call('navigate', { url: site.url }),
        isClass('tool_error', /127\.0\.0\.1 is on this machine or its network/),
      );
      assert.match(
        await call('navigate', { url: site.url.replace('127.0.0.1', 'localhost') }),
        /localhost is on this machine or its network/,
      );
      await assert.rejects(
        call('navigate', { url: 'https://localhost:8443/' }),
        isClass('tool_error', /net::ERR_TUNNEL_CONNECTION_FAILED/),
      );
    }, {});
    assert.deepEqual(asked, []);
  });

  it('has no network if the batch says so, also without a sandbox', async () => {
    asked = [];
    const access = browserAccess({ private_addresses: true }, { network: false });
    const browser = await startChromium(bench.environment, access, new AbortController().signal);
    try {
      const page = await browser.context.newPage();
      await page.goto(site.url);
      assert.match((await page.textContent('body')) ?? '', /`sandbox: \{ network: false \}`/);
    } finally {
      await browser.end();
    }
    assert.deepEqual(asked, []);
  });

  it('has a proxy that serves nobody else, also without a sandbox', { skip: onLinux }, async () => {
    const before = new Set(listeningPorts(process.pid));
    const access = browserAccess({}, { network: 'filtered', allow: [new URL(site.url).host] });
    const browser = await startChromium(bench.environment, access, new AbortController().signal);
    try {
      const [port = 0, ...more] = listeningPorts(process.pid).filter((each) => !before.has(each));
      assert.deepEqual(more, []);
      const page = await browser.context.newPage();
      await page.goto(site.url);
      assert.equal(await page.title(), 'Form');
      const wrong = { 'proxy-authorization': `Basic ${btoa('browser:wrong')}` };
      for (const headers of [{}, wrong])
        for (const method of ['GET', 'CONNECT']) {
          const asking = request({ port, method, path: method === 'GET' ? site.url : new URL(site.url).host, headers });
          asking.end();
          const [answer] = (await Promise.race([once(asking, 'response'), once(asking, 'connect')])) as [
            IncomingMessage,
          ];
          assert.equal(answer.statusCode, 407);
          answer.destroy();
        }
      const commands = processesWith(`${bench.cwd}.browser`).map((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
      assert.ok(commands.some((text) => text.includes(`127.0.0.1:${port}`)));
      assert.ok(!commands.some((text) => text.includes('browser:')));
    } finally {
      await browser.end();
    }
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StudioError } from '../../../src/common/errors.ts';
import { ProxyRules } from '../../../src/net/proxyRules.ts';

const PROXY = 'http://proxy.corp:3128';

function through(url: string, env: Readonly<Record<string, string>>, noProxy?: readonly string[]): string | undefined {
  return new ProxyRules({ env, noProxy }).for(new URL(url))?.href;
}

test('the proxy of the environment depends on the protocol, and lower-case names win', () => {
  const env = { HTTPS_PROXY: PROXY, HTTP_PROXY: 'http://other.corp:80', https_proxy: 'http://lower.corp:1' };
  assert.equal(through('https://api.example:6443', env), 'http://lower.corp:1/');
  assert.equal(through('wss://api.example', env), 'http://lower.corp:1/');
  assert.equal(through('http://model.example/v1', env), 'http://other.corp/');
  assert.equal(through('https://api.example', {}), undefined);
  assert.equal(through('https://api.example', { ALL_PROXY: 'proxy.corp:3128' }), `${PROXY}/`);
});

test('NO_PROXY names hosts with their subdomains, ports, addresses, and networks', () => {
  const reached = (url: string, noProxy: string): boolean =>
    through(url, { HTTPS_PROXY: PROXY, NO_PROXY: noProxy }) === undefined;
  for (const [url, entry] of [
    ['https://api.example', '*'],
    ['https://api.example', 'API.example'],
    ['https://a.b.example', 'other, .example'],
    ['https://a.b.example', '*.b.example'],
    ['https://api.example', 'api.example:443'],
    ['https://api.example:6443', 'api.example:6443'],
    ['https://10.1.2.3', '10.0.0.0/8'],
    ['https://10.1.2.3', '10.1.2.3'],
    ['https://[fd00::12]', 'fd00::/8'],
    ['https://[fd00::12]:6443', 'fd00::12'],
  ] as const)
    assert.ok(reached(url, entry), `${url} ${entry}`);
  for (const [url, entry] of [
    ['https://api.example', 'i.example'],
    ['https://api.example', 'api.example:6443'],
    ['https://11.1.2.3', '10.0.0.0/8'],
    ['https://10.1.2.3', 'fd00::/8,10.0.0.0/,10.0.0.0/99,/8'],
    ['https://api.example', ' , '],
  ] as const)
    assert.ok(!reached(url, entry), `${url} ${entry}`);
  assert.equal(through('https://api.example', { HTTPS_PROXY: PROXY }, ['.example']), undefined, 'http.noProxy');
});

test('this machine is never reached through a proxy', () => {
  for (const host of ['localhost', 'a.localhost', '127.0.0.1', '127.9.9.9', '[::1]'])
    assert.equal(through(`https://${host}:8443`, { HTTPS_PROXY: PROXY }), undefined, host);
});

test('an error about a proxy never shows its password', () => {
  assert.throws(
    () => through('https://api.example', { HTTPS_PROXY: 'socks5://ann:secret@proxy.corp' }),
    (error) => StudioError.is(error, 'config') && !`${error.message} ${error.hint ?? ''}`.includes('secret'),
  );
});

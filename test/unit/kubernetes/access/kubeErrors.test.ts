import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorText, StudioError } from '../../../../src/common/errors.ts';
import {
  connectionError,
  credentialError,
  type FailedConnection,
} from '../../../../src/kubernetes/access/kubeErrors.ts';

const failed = (hoursAhead: number | undefined, more: Partial<FailedConnection> = {}): FailedConnection => ({
  server: 'https://k.example',
  context: 'k',
  cancelled: false,
  serverTime: () => Promise.resolve(hoursAhead === undefined ? undefined : Date.now() - hoursAhead * 3600e3),
  ...more,
});
const coded = (code: string, message = code): Error => Object.assign(new Error(message), { code });

test('an expired or future certificate names the clock of this machine, if that is the reason', async () => {
  const ahead = await connectionError(coded('CERT_HAS_EXPIRED'), failed(30 * 24));
  assert.equal(
    errorText(ahead),
    "The certificate of the API server of k (https://k.example) has expired. This machine's clock is 720 hours " +
      "ahead of the cluster's. Set this machine's clock.",
  );
  assert.match(
    errorText(await connectionError(coded('CERT_NOT_YET_VALID'), failed(-3))),
    /is not valid yet\. This machine's clock is 3 hours behind/,
  );
  for (const skew of [0, undefined])
    assert.match(
      errorText(await connectionError(coded('CERT_HAS_EXPIRED'), failed(skew))),
      /agrees with the cluster's: renew the certificate/,
    );
});

test('the reason why a cluster cannot be reached is plain text, also for names with several addresses', async () => {
  const text = async (error: unknown): Promise<string> => (await connectionError(error, failed(0))).message;
  assert.match(
    await text(new AggregateError([coded('ECONNREFUSED'), coded('ECONNREFUSED')])),
    /^Cannot reach the API server of k .*: nothing listens on that port\.$/,
  );
  assert.match(await text(new TypeError('fetch failed', { cause: coded('ENOTFOUND') })), /the host name is unknown/);
  assert.match(await text(new DOMException('slow', 'TimeoutError')), /it does not respond/);
  assert.match(await text(coded('SELF_SIGNED_CERT_IN_CHAIN')), /The kubeconfig does not trust the certificate/);
  assert.match(await text(coded('EPROTO', 'wrong version number\nmore')), /wrong version number\./);
  assert.match(await text(new Error('something else')), /something else\.$/);
  assert.ok(StudioError.is(await connectionError(coded('ECONNRESET'), failed(0, { cancelled: true })), 'cancelled'));
});

test('missing credentials name the program that should provide them', () => {
  assert.match(
    errorText(credentialError(new Error('token expired\nusage: …'), { command: 'cloud-login' }, 'k')),
    /^The program cloud-login, .* failed: token expired\. Log in with it again/,
  );
  assert.match(
    errorText(credentialError(coded('ENOENT', 'no such file'), undefined, 'k')),
    /Cannot use the kubeconfig's credentials for k: no such file\./,
  );
});

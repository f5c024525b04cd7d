import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { address, allowedEgress, network } from '../../../../src/kubernetes/network/peers.ts';

describe('what a user allows', () => {
  it('is a network or a namespace, with or without a port', () => {
    assert.deepEqual(allowedEgress('10.1.0.0/16'), { to: [{ ipBlock: { cidr: '10.1.0.0/16' } }] });
    assert.deepEqual(allowedEgress('10.1.0.0/16:5433'), {
      to: [{ ipBlock: { cidr: '10.1.0.0/16' } }],
      ports: [{ protocol: 'TCP', port: 5433 }],
    });
    assert.deepEqual(allowedEgress('[2001:db8::/32]:443'), {
      to: [{ ipBlock: { cidr: '2001:db8::/32' } }],
      ports: [{ protocol: 'TCP', port: 443 }],
    });
    assert.deepEqual(allowedEgress('2001:db8::/32'), { to: [{ ipBlock: { cidr: '2001:db8::/32' } }] });
    const ns = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'models' } } };
    assert.deepEqual(allowedEgress('namespace:models'), { to: [ns] });
    assert.deepEqual(allowedEgress('namespace:models:8000'), { to: [ns], ports: [{ protocol: 'TCP', port: 8000 }] });
  });

  for (const text of [
    '',
    '10.0.0.1',
    '10.0.0.0/33',
    '300.0.0.0/8',
    'example.com',
    'namespace:',
    'namespace:A',
    '10.0.0.0/8:0',
  ])
    it(`is not “${text}”`, () => assert.throws(() => allowedEgress(text), /is not a network\. Expected CIDR/));

  it('never includes the addresses of metadata', () => {
    for (const text of ['169.254.169.254/32', '169.254.170.2/32:80', '168.63.129.16/32', '[fd00:ec2::254/128]:80'])
      assert.throws(() => allowedEgress(text), /credentials to machines\. It stays blocked/, text);
    assert.deepEqual(network('0.0.0.0/0').ipBlock?.except, [
      '169.254.0.0/16',
      '168.63.129.16/32',
      '100.100.100.200/32',
      '192.0.0.192/32',
    ]);
    assert.deepEqual(network('169.254.0.0/16').ipBlock?.except, ['169.254.169.254/32', '169.254.170.0/24']);
    assert.deepEqual(network('169.254.20.10/32').ipBlock, { cidr: '169.254.20.10/32' });
    assert.deepEqual(network('fd00::/8').ipBlock?.except, [
      'fd00:ec2::254/128',
      'fd00:ec2::23/128',
      'fd20:ce::254/128',
    ]);
    assert.equal(address('169.254.169.254'), undefined);
    assert.equal(address('127.0.0.1'), undefined);
    assert.deepEqual(address('2001:db8::1'), { ipBlock: { cidr: '2001:db8::1/128' } });
  });
});

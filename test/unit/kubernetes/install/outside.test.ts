/** What an installation is outside its cluster: Ingress, gateway, proxies, authorities. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { INSTALL_OPTIONS, readInstallOptions } from '../../../../src/cli/clusterOptions.ts';
import { parseOptions } from '../../../../src/cli/command.ts';
import { StudioError } from '../../../../src/common/errors.ts';
import type { KubeObject } from '../../../../src/kubernetes/access/objects.ts';
import { objectsOf } from '../../../../src/kubernetes/install/manifests/all.ts';
import type { InstallOptions } from '../../../../src/kubernetes/install/options.ts';

const NS = 'rollouts';

async function options(words: string, installed?: InstallOptions): Promise<InstallOptions> {
  const args = words.split(' ').filter((word) => word !== '');
  const { values } = parseArgs({ args, options: parseOptions(INSTALL_OPTIONS) });
  return await readInstallOptions({ words: [], options: values }, installed);
}

const container = z.looseObject({
  args: z.array(z.string()).default([]),
  env: z.array(z.looseObject({ name: z.string(), value: z.string().optional() })).default([]),
  volumeMounts: z.array(z.looseObject({ name: z.string(), mountPath: z.string() })),
});
const deployment = z.looseObject({
  template: z.looseObject({
    spec: z.looseObject({ containers: z.array(container), volumes: z.array(z.looseObject({ name: z.string() })) }),
  }),
});

function find(objects: readonly KubeObject[], kind: string, name = 'rollout-studio'): KubeObject | undefined {
  return objects.find((object) => object.kind === kind && object.metadata.name === name);
}

function podOf(objects: readonly KubeObject[], name = 'rollout-studio') {
  const { spec } = deployment.parse(find(objects, 'Deployment', name)?.['spec']).template;
  const [first] = spec.containers;
  assert.ok(first !== undefined);
  const env = Object.fromEntries(first.env.map((each) => [each.name, each.value]));
  return { args: first.args, env, volumes: spec.volumes, mounts: first.volumeMounts };
}

/** Returns the values of an argument that may be there several times. */
function valuesOf(args: readonly string[], name: string): string[] {
  return args.flatMap((arg, index) => (arg === name ? [args[index + 1] ?? ''] : []));
}

test('an Ingress serves a host with TLS, by the plain or the secure port', async () => {
  const plain = await options('--ingress rollouts.example.org');
  const objects = objectsOf(plain, undefined, NS);
  assert.deepEqual(find(objects, 'Ingress')?.['spec'], {
    tls: [{ hosts: ['rollouts.example.org'] }],
    rules: [
      {
        host: 'rollouts.example.org',
        http: {
          paths: [
            { path: '/', pathType: 'Prefix', backend: { service: { name: 'rollout-studio', port: { name: 'http' } } } },
          ],
        },
      },
    ],
  });
  const { args } = podOf(objects);
  assert.ok(valuesOf(args, '--allow-host').includes('rollouts.example.org'));
  assert.deepEqual(valuesOf(args, '--allow-origin'), ['https://rollouts.example.org']);
  assert.deepEqual(valuesOf(args, '--tls-min'), []);

  const secure = await options(
    '--ingress-class nginx --ingress-tls cluster-issuer:letsencrypt --ingress-backend https ' +
      '--ingress-annotation nginx.ingress.kubernetes.io/backend-protocol=HTTPS',
    plain,
  );
  assert.equal(secure.ingress?.host, 'rollouts.example.org', 'an upgrade keeps the host');
  const again = objectsOf(secure, undefined, NS);
  const ingress = find(again, 'Ingress');
  assert.deepEqual(ingress?.metadata.annotations, {
    'cert-manager.io/cluster-issuer': 'letsencrypt',
    'nginx.ingress.kubernetes.io/backend-protocol': 'HTTPS',
  });
  assert.match(
    JSON.stringify(ingress),
    /"ingressClassName":"nginx".*"secretName":"rollout-studio-tls".*"name":"https"/,
  );
  assert.deepEqual(valuesOf(podOf(again).args, '--tls-min'), ['1.2'], 'not every controller knows TLS 1.3');
  assert.equal(find(objectsOf(await options('--ingress none', secure), undefined, NS), 'Ingress'), undefined);
});

test('controllers that read how to connect at the Service find it there', async () => {
  const transport = 'traefik.ingress.kubernetes.io/service.serverstransport=rollouts-verify@kubernetescrd';
  const first = await options(`--service-annotation ${transport} --service-annotation a.example/b=c=d`);
  const annotations = (of: InstallOptions) => find(objectsOf(of, undefined, NS), 'Service')?.metadata.annotations;
  assert.deepEqual(annotations(first), {
    'traefik.ingress.kubernetes.io/service.serverstransport': 'rollouts-verify@kubernetescrd',
    'a.example/b': 'c=d',
  });
  assert.deepEqual(annotations(await options('--memory 3Gi', first)), annotations(first), 'an upgrade keeps them');
  assert.equal(annotations(await options('--service-annotation none', first)), undefined);
});

test('a route of a gateway has no time-out, and may verify the server', async () => {
  const first = await options('--gateway public/infra --gateway-host rollouts.example.org --gateway-section https');
  const objects = objectsOf(first, undefined, NS);
  const route = JSON.stringify(find(objects, 'HTTPRoute')?.['spec']);
  assert.match(route, /"name":"public","namespace":"infra","sectionName":"https"/);
  assert.match(route, /"timeouts":\{"request":"0s"\}.*"port":8080/);
  assert.equal(find(objects, 'BackendTLSPolicy'), undefined);
  const policy = JSON.stringify(find(objects, 'NetworkPolicy')?.['spec']);
  assert.match(policy, /"kubernetes.io\/metadata.name":"infra"/, 'its pods are admitted');
  const second = objectsOf(await options('--gateway-backend https', first), undefined, NS);
  assert.match(JSON.stringify(find(second, 'HTTPRoute')), /"port":8443/);
  assert.deepEqual(find(second, 'BackendTLSPolicy')?.['spec'], {
    targetRefs: [{ group: '', kind: 'Service', name: 'rollout-studio', sectionName: 'https' }],
    validation: {
      caCertificateRefs: [{ group: '', kind: 'ConfigMap', name: 'rollout-studio-ca' }],
      hostname: 'rollout-studio.rollouts.svc',
    },
  });
});

test('a proxy that says who users are proves itself by a certificate or a secret', async () => {
  const mtls = podOf(
    objectsOf(
      await options(
        '--identity-headers user=X-Forwarded-User,groups=X-Forwarded-Groups,user-prefix=oidc: ' +
          '--identity-from mtls:proxy-ca:oauth2-proxy,pomerium',
      ),
      undefined,
      NS,
    ),
  );
  assert.deepEqual(valuesOf(mtls.args, '--identity-headers'), [
    'user=X-Forwarded-User,groups=X-Forwarded-Groups,user-prefix=oidc:',
  ]);
  assert.deepEqual(valuesOf(mtls.args, '--identity-ca'), ['/rollout/identity/ca.crt']);
  assert.deepEqual(valuesOf(mtls.args, '--identity-name'), ['oauth2-proxy', 'pomerium']);
  assert.match(JSON.stringify(mtls.volumes), /"secretName":"proxy-ca".*"items":\[\{"key":"ca.crt","path":"ca.crt"\}\]/);
  const shared = await options('--identity-headers user=X-Forwarded-User --identity-from shared-secret:proxy');
  assert.deepEqual(valuesOf(podOf(objectsOf(shared, undefined, NS)).args, '--identity-secret'), [
    '/rollout/identity/proxy-secret',
  ]);
  assert.equal((await options('--identity-headers none', shared)).identity, undefined);
});

test('server, workers, and vLLM get the proxy and the authorities', async () => {
  const objects = objectsOf(
    await options(
      '--proxy http://proxy.corp:3128 --no-proxy .corp --no-proxy 203.0.113.0/24 --ca-bundle ' +
        'configmap:corp-ca/ca.pem --vllm some/model',
    ),
    undefined,
    NS,
  );
  const { env, volumes, mounts } = podOf(objects);
  assert.equal(env['HTTPS_PROXY'], 'http://proxy.corp:3128');
  assert.match(env['NO_PROXY'] ?? '', /\.svc,.*\$\(KUBERNETES_SERVICE_HOST\),\.corp,203\.0\.113\.0\/24$/);
  assert.equal(env['NODE_EXTRA_CA_CERTS'], '/rollout/ca-bundle/ca-bundle.crt');
  assert.match(JSON.stringify(volumes), /"configMap":\{"name":"corp-ca","items":\[\{"key":"ca.pem"/);
  assert.ok(mounts.some(({ mountPath }) => mountPath === '/rollout/ca-bundle'));
  assert.deepEqual(Object.keys(JSON.parse(env['ROLLOUT_OUTBOUND'] ?? '{}') as object).sort(), [
    'ca_file',
    'no_proxy',
    'proxy',
  ]);
  const model = podOf(objects, 'rollout-studio-vllm');
  assert.equal(model.env['HTTPS_PROXY'], 'http://proxy.corp:3128');
  for (const name of ['REQUESTS_CA_BUNDLE', 'AWS_CA_BUNDLE'])
    assert.equal(model.env[name], '/rollout/ca-bundle/ca-bundle.crt');
  const policies = objects.filter(({ kind }) => kind === 'NetworkPolicy').map((each) => JSON.stringify(each));
  assert.equal(policies.filter((text) => text.includes('"port":3128')).length, 3, 'server, workers, and vLLM');
});

test('options that do not fit are refused, with what to do', async () => {
  const refused: readonly (readonly [string, RegExp])[] = [
    ['--ingress Not_A_Host', /--ingress-host: expected a host name/],
    ['--ingress-class nginx', /require a host/],
    ['--ingress a.example --ingress-annotation x', /has no value/],
    ['--ingress a.example --ingress-tls issuer:', /expected a Secret, issuer:NAME/],
    ['--service-annotation x', /--service-annotation x has no value/],
    ['--gateway public', /require each other/],
    ['--identity-headers user=X-User', /require each other/],
    ['--identity-headers groups=X-G --identity-from shared-secret:s', /requires user=HEADER/],
    ['--identity-headers user=X-User --identity-from cidr:10.0.0.0/8', /An address proves nothing/],
    ['--identity-headers user=X-User --identity-from mtls:s', /is not a proof/],
    ['--identity-headers user=X_User --identity-from shared-secret:s', /name of a header/],
    ['--identity-headers user=X-U,user-prefix=system: --identity-from shared-secret:s', /prefix such as oidc:/],
    ['--proxy http://ann:pass@proxy.corp', /without a password/],
    ['--proxy socks5://proxy.corp', /a URL such as http/],
    ['--ca-bundle corp-ca', /Expected configmap:NAME/],
  ];
  for (const [words, message] of refused)
    await assert.rejects(options(words), (error) => {
      assert.ok(StudioError.is(error, 'usage'), words);
      assert.match(`${error.message} ${error.hint ?? ''}`, message, words);
      return true;
    });
});

/** Which kubeconfig counts, and what is said where there is none: in remote windows of VS Code, too. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { afterEach, describe, it } from 'node:test';
import {
  kubeconfigFiles,
  noKubeconfig,
  placeOf,
  setKubeconfigs,
} from '../../../../src/kubernetes/access/kubeconfigFiles.ts';

describe('kubeconfig files', () => {
  afterEach(() => setKubeconfigs({ files: undefined, remoteName: undefined }));

  it('an option comes before the setting, and that before KUBECONFIG', () => {
    const env = { KUBECONFIG: ['/a', '/b'].join(path.delimiter) };
    assert.deepEqual(kubeconfigFiles(undefined, env), ['/a', '/b']);
    assert.match(kubeconfigFiles(undefined, {})[0] ?? '', /\.kube.config$/);
    setKubeconfigs({ files: ['/c', '/d'], remoteName: undefined });
    assert.deepEqual(kubeconfigFiles(undefined, env), ['/c', '/d']);
    assert.deepEqual(kubeconfigFiles('/e', env), ['/e']);
  });

  it('the error names the machine that was searched, and how a kubeconfig gets there', () => {
    const text = (env: NodeJS.ProcessEnv, remoteName?: string): string => {
      const { message, hint = '' } = noKubeconfig(['/home/ann/.kube/config'], placeOf(env, remoteName));
      return `${message} ${hint}`;
    };
    const nowhere = /^No kubeconfig found: \/home\/ann\/\.kube\/config does not exist\. Get one from your cluster/;
    assert.match(text({}), nowhere);
    assert.match(text({}, 'dev-container'), /found in the dev container: .*"mounts": \[.*\] in devcontainer\.json/);
    assert.match(text({ REMOTE_CONTAINERS: 'true' }), /in the dev container/);
    assert.match(text({}, 'attached-container'), /found in the container: /);
    assert.match(text({}, 'ssh-remote'), /found on the SSH host \S+: .*Copy it there\./);
    assert.match(text({ SSH_CONNECTION: '10.0.0.1 1 10.0.0.2 22' }), /on the SSH host/);
    assert.match(text({ WSL_DISTRO_NAME: 'Ubuntu' }), /found in WSL \(Ubuntu\): /);
    assert.match(text({ CODESPACES: 'true' }), /in the codespace/);
    for (const env of [{}, { WSL_DISTRO_NAME: 'Ubuntu' }])
      assert.match(text(env), /--kubeconfig or KUBECONFIG, in VS Code with the setting rollout\.kubeconfig\.$/);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { placed } from '../../../../src/client/text/placed.ts';

describe('commands in messages', () => {
  const gpus = { context: 'prod', kubeconfig: '/home/ada/my config', namespace: 'rollouts' };
  const at = (text: string): string => placed(text, 'gpus', gpus);

  it('reach the target when copied', () => {
    assert.equal(
      at('Repair it with rollout cluster upgrade. Send them again with rollout resume b1.'),
      'Repair it with rollout cluster upgrade --target gpus. Send them again with rollout resume --target gpus b1.',
    );
    assert.equal(
      at('Use rollout cluster install --create-namespace, or rollout cluster upgrade --target other.'),
      'Use rollout cluster install --target gpus --create-namespace, or rollout cluster upgrade --target other.',
    );
    assert.equal(
      at('Remove it with kubectl delete secret s -n rollouts'),
      "Remove it with kubectl --kubeconfig '/home/ada/my config' --context prod delete secret s -n rollouts",
    );
    assert.equal(
      at('Check kubectl describe pods -l a=b. See kubectl logs deployment/d, kubectl get nodes, kubectl get pods -A.'),
      [
        'Check kubectl K -n rollouts describe pods -l a=b.',
        'See kubectl K -n rollouts logs deployment/d, kubectl K get nodes, kubectl K get pods -A.',
      ]
        .join(' ')
        .replaceAll('kubectl K', "kubectl --kubeconfig '/home/ada/my config' --context prod"),
    );
    assert.equal(
      placed('Run rollout resume b1 or kubectl get pods.', 'here', { url: 'https://r.test', token_env: 'T' }),
      'Run rollout resume --target here b1 or kubectl get pods.',
    );
  });

  it('stay as they are where no command is meant', () => {
    for (const text of [
      'The rollout resumes later.',
      'See rollout target status gpus.',
      'A rollout pauses; kubectl must work with this context.',
    ])
      assert.equal(at(text), text);
  });
});

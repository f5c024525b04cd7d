import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StudioError } from '../../../../src/common/errors.ts';
import { accessRoles, parseBinding, roleBinding } from '../../../../src/kubernetes/identity/roles.ts';

const nameOf = (text: string): string => roleBinding(parseBinding(text, 'rollouts'), 'rollouts').metadata.name;

describe('roles of users', () => {
  it('name each binding after its subject, and give no two subjects the same one', () => {
    assert.equal(nameOf('user=alice:user'), 'rollout-studio-user.user-alice');
    assert.equal(nameOf('serviceaccount=ci:viewer'), 'rollout-studio-viewer.serviceaccount-rollouts.ci');
    const subjects = ['a@b.org', 'a-b.org', 'A@b.org', 'a@b.org@', '@a@b.org', 'oidc:a@b.org', 'x'.repeat(300)];
    const names = subjects.map((subject) => nameOf(`user=${subject}:admin`));
    assert.equal(new Set(names).size, subjects.length, names.join('\n'));
    for (const name of names) {
      assert.match(name, /^rollout-studio-admin\.user-[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/);
      assert.ok(name.length <= 253);
    }
  });

  it('are given to users, groups, and accounts', () => {
    const subjectOf = (text: string): unknown => roleBinding(parseBinding(text, 'rollouts'), 'rollouts')['subjects'];
    const rbac = { apiGroup: 'rbac.authorization.k8s.io' };
    assert.deepEqual(subjectOf('user=a=b:c:user'), [{ ...rbac, kind: 'User', name: 'a=b:c' }]);
    assert.deepEqual(subjectOf('group=research:viewer'), [{ ...rbac, kind: 'Group', name: 'research' }]);
    assert.deepEqual(subjectOf('serviceaccount=other/ci:user'), [
      { kind: 'ServiceAccount', namespace: 'other', name: 'ci' },
    ]);
    assert.deepEqual(subjectOf('serviceaccount=other:ci:user'), subjectOf('serviceaccount=other/ci:user'));
    for (const wrong of [
      'serviceaccount=A:user',
      'serviceaccount=a/b/c:user',
      'alice:user',
      'user=alice',
      'user=:user',
      'user=alice:owner',
      'robot=alice:user',
      '',
    ])
      assert.throws(
        () => parseBinding(wrong, 'rollouts'),
        (error) => StudioError.is(error, 'usage'),
        wrong,
      );
  });

  it('grant no access to Secrets', () => {
    const roles = accessRoles('rollouts');
    assert.equal(roles.length, 3);
    assert.doesNotMatch(JSON.stringify(roles), /secrets|\*/);
  });
});

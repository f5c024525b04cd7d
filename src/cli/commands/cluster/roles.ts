/** `rollout cluster roles`: Roles for the users of a server in a cluster, and who gets which. */
import { StudioError } from '../../../common/errors.ts';
import type { Cluster } from '../../../kubernetes/access/cluster.ts';
import { type CommandLine, type Outcome, textOption, textOptions } from '../../command.ts';
import type { Context } from '../../context.ts';

/** Prints the manifests. `open`: opens the selected cluster, whose namespace counts. */
export async function roles(
  context: Context,
  commandLine: CommandLine,
  open: () => Promise<Cluster>,
): Promise<Outcome> {
  const { accessRoles, parseBinding, roleBinding } = await import('../../../kubernetes/identity/roles.ts');
  const { documents } = await import('../../../kubernetes/install/render/render.ts');
  const namespace = textOption(commandLine, 'namespace') ?? (await namespaceOf(open));
  const bindings = textOptions(commandLine, 'bind').map((text) => parseBinding(text, namespace));
  const objects = [...accessRoles(namespace), ...bindings.map((binding) => roleBinding(binding, namespace))];
  if (context.json) {
    context.printJson({ namespace, objects });
    return 0;
  }
  context.print(documents(objects).trimEnd());
  context.log(
    bindings.length === 0
      ? `Apply them with kubectl apply -f -. Give one to somebody: rollout cluster roles --namespace ${namespace} ` +
          '--bind user=NAME:user | kubectl apply -f -'
      : 'Apply them with kubectl apply -f -.',
  );
  return 0;
}

async function namespaceOf(open: () => Promise<Cluster>): Promise<string> {
  try {
    const cluster = await open();
    cluster.close();
    return cluster.namespace;
  } catch (error) {
    if (!StudioError.is(error, 'usage')) throw error;
    throw new StudioError('usage', error.message, { hint: 'Name the namespace with --namespace, or a --target.' });
  }
}

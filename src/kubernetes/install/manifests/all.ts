/** Builds all objects of an installation, in the order in which they are applied. */

import type { KubeObject } from '../../access/objects.ts';
import { labels, NAMES } from '../../names.ts';
import type { Archive } from '../../programs/archive.ts';
import type { InstallOptions } from '../options.ts';
import { outsideObjects } from '../outside/objects.ts';
import { parseStorage } from '../storage.ts';
import { optionsMap } from '../stored.ts';
import { vllm } from '../vllm/manifests.ts';
import { modelsOf } from '../vllm/models.ts';
import { admissionPolicies } from './admission.ts';
import { identityBindings } from './identities.ts';
import { networkPolicies } from './network.ts';
import { disruptionBudget } from './pods.ts';
import { type ProgramMaps, programMaps } from './programs.ts';
import { rights, serverAccount } from './rights.ts';
import { serverDeployment, serverService } from './server.ts';
import { claimOf } from './volumes.ts';

/** Returns all objects but the namespace and the Secret with the client tokens, which are created once. */
export function manifests(options: InstallOptions, archive: Archive, namespace: string): KubeObject[] {
  return objectsOf(options, options.programs === 'image' ? undefined : programMaps(archive, namespace), namespace);
}

/** The same, with programs that are in ConfigMaps already, or undefined if they are in the image. */
export function objectsOf(options: InstallOptions, programs: ProgramMaps | undefined, namespace: string): KubeObject[] {
  return [
    ...rights(options, namespace),
    ...(options.identityBindings === 'none' ? [] : identityBindings(namespace, serverAccount(options))),
    ...(options.admissionPolicies === 'none' ? [] : admissionPolicies(namespace, serverAccount(options))),
    ...networkPolicies(options, namespace),
    ...(programs?.objects ?? []),
    optionsMap(options, namespace),
    ...claimOf(
      NAMES.volume,
      parseStorage(options.storage),
      options.storageSize,
      { namespace, component: 'server' },
      'ReadWriteOnce',
    ),
    serverService(options, namespace),
    serverDeployment(options, programs, namespace),
    ...outsideObjects(options, namespace),
    // A server with a store of its own is alone.
    ...(parseStorage(options.storage).kind === 'postgres'
      ? [disruptionBudget(NAMES.server, { namespace, component: 'server' }, labels('server'))]
      : []),
    ...modelsOf(options).flatMap((model) => vllm(model, options, namespace)),
  ];
}

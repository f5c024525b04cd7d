/** Registers command groups whose code is loaded on first use. */
import * as vscode from 'vscode';
import { ExportPreviews } from './batches/export/previews.ts';
import { EXPORT_SCHEME } from './contributions/names.ts';
import type { StudioFiles } from './files/studioFiles.ts';
import type { StoredValues } from './launch/values/storedValues.ts';
import type { PodDocuments } from './pods/podDocuments.ts';
import type { RegisterCommand, Services } from './services.ts';
import type { TargetTokens } from './targets/address/targetTokens.ts';
import type { InstallDiffs } from './targets/installDiff.ts';
import type { TargetRegistry } from './targets/targetRegistry.ts';
import { registerGroup } from './window/commands.ts';
import type { FileProblems } from './window/problems.ts';
import type { WorkspaceWorlds } from './worlds/workspaceWorlds.ts';

interface GroupParts {
  readonly problems: FileProblems;
  readonly files: StudioFiles;
  readonly targets: TargetRegistry;
  readonly tokens: TargetTokens;
  readonly values: StoredValues;
  readonly worlds: WorkspaceWorlds;
}

export function registerGroups(services: Services, register: RegisterCommand, parts: GroupParts): vscode.Disposable {
  const { files, targets, tokens, values } = parts;
  const previews = new ExportPreviews();
  let podDocuments: PodDocuments | undefined;
  let installDiffs: InstallDiffs | undefined;
  return vscode.Disposable.from(
    vscode.workspace.registerTextDocumentContentProvider(EXPORT_SCHEME, previews),
    registerGroup(
      register,
      [
        'rollout.launchBatch',
        'rollout.launchTask',
        'rollout.launchAgain',
        'rollout.runFailedAgain',
        'rollout.forgetSecrets',
      ],
      async () => (await import('./launch/launch.ts')).launchCommands(services, parts),
    ),
    registerGroup(
      register,
      [
        'rollout.pauseBatch',
        'rollout.releasePods',
        'rollout.resumeBatch',
        'rollout.stopBatch',
        'rollout.retryUnsettled',
        'rollout.releaseAttempt',
        'rollout.copyReference',
      ],
      async () => (await import('./batches/control.ts')).controlCommands(services, values),
    ),
    new vscode.Disposable(() => {
      podDocuments?.dispose();
      installDiffs?.dispose();
    }),
    registerGroup(register, ['rollout.showPods', 'rollout.showPodLog', 'rollout.showPodEvents'], async () => {
      const [{ podCommands }, { PodDocuments }] = await Promise.all([
        import('./pods/commands.ts'),
        import('./pods/podDocuments.ts'),
      ]);
      podDocuments ??= new PodDocuments(services);
      return podCommands(services, podDocuments);
    }),
    registerGroup(
      register,
      ['rollout.openBatch', 'rollout.openTrajectory', 'rollout.compareAttempts', 'rollout.compareBatches'],
      async () => (await import('./open/open.ts')).openCommands(services),
    ),
    registerGroup(register, ['rollout.exportAttempts'], async () =>
      (await import('./batches/export/exportAttempts.ts')).exportCommands(services, previews),
    ),
    registerGroup(register, ['rollout.rescoreBatch'], async () =>
      (await import('./batches/rescore.ts')).rescoreCommands(services, values),
    ),
    registerGroup(register, ['rollout.copyBatch'], async () =>
      (await import('./batches/copyBatch.ts')).copyCommands(services, targets),
    ),
    registerGroup(register, ['rollout.newRecordedWorld'], async () =>
      (await import('./worlds/recorded/newRecordedWorld.ts')).recordedWorldCommands(services),
    ),
    registerGroup(register, ['rollout.pickDemonstrations'], async () =>
      (await import('./worlds/demonstrations/pickDemonstrations.ts')).demonstrationCommands(services, parts.worlds),
    ),
    registerGroup(register, ['rollout.compareWorld'], async () =>
      (await import('./worlds/compareWorld.ts')).compareWorldCommands(services, values),
    ),
    registerGroup(register, ['rollout.labelAttempt'], async () =>
      (await import('./batches/label.ts')).labelCommands(services),
    ),
    registerGroup(register, ['rollout.import'], async () =>
      (await import('./importing/import.ts')).importCommands(services),
    ),
    registerGroup(register, ['rollout.createSample', 'rollout.createGaia'], async () =>
      (await import('./importing/sample.ts')).sampleCommands(services, files),
    ),
    registerGroup(register, ['rollout.importAworld'], async () =>
      (await import('./importing/aworld.ts')).aworldCommands(services, files),
    ),
    registerGroup(register, ['rollout.showTeam'], async () => (await import('./team/showTeam.ts')).teamCommands()),
    registerGroup(register, ['rollout.newAgent', 'rollout.newTool', 'rollout.newBatch', 'rollout.addWorld'], async () =>
      (await import('./templates/templates.ts')).templateCommands(services),
    ),
    registerGroup(register, ['rollout.debug', 'rollout.attachDebugger', 'rollout.fork'], async () =>
      (await import('./debug/commands.ts')).debugCommands(services, values),
    ),
    registerGroup(
      register,
      [
        'rollout.addTarget',
        'rollout.selectTarget',
        'rollout.useTarget',
        'rollout.removeTarget',
        'rollout.changeToken',
        'rollout.installTarget',
        'rollout.uninstallTarget',
      ],
      async () => {
        const [{ targetCommands }, { InstallDiffs }] = await Promise.all([
          import('./targets/commands.ts'),
          import('./targets/installDiff.ts'),
        ]);
        installDiffs ??= new InstallDiffs();
        return targetCommands(services, targets, tokens, installDiffs);
      },
    ),
    vscode.window.registerUriHandler({
      handleUri: async (uri) => (await import('./open/open.ts')).followLink(services, uri),
    }),
  );
}

/** Creates the server links and the CLI runner of this window from its settings and trust, and shows their messages. */
import * as vscode from 'vscode';
import type { ConnectOptions } from '../../client/connect.ts';
import { LOCAL } from '../../client/targets/local.ts';
import type { LineCli, ServerLink } from '../services.ts';
import type { TargetTokens } from '../targets/address/targetTokens.ts';
import type { Log } from '../window/log.ts';
import { setting } from '../window/settings.ts';
import type { ServerId } from './connections.ts';
import { cliOf } from './runCli.ts';
import { type ClosableConnection, type LinkPorts, WindowServerLink } from './serverLink.ts';
import type { ServerSettings } from './serverSettings.ts';

type HostLink = ServerLink & { dispose(): void };

/** Creates the window's link, which follows the settings. */
export function createServerLink(log: Log, tokens: TargetTokens, settings: ServerSettings): HostLink {
  const link = linkTo(
    { store: () => settings.store, target: () => settings.target, stopped: (text) => void showStopped(text, log) },
    log,
    tokens,
  );
  link.addDisposable(settings.changed(() => link.reset()));
  return link;
}

/** Creates a link that stays on its server, for pages of other servers. The pages report its errors. */
export function createPageLink({ store, target }: ServerId, log: Log, tokens: TargetTokens): HostLink {
  return linkTo({ store: () => store, target: () => target, stopped: (text) => log.channel.warn(text) }, log, tokens);
}

function linkTo(
  ports: Pick<LinkPorts, 'store' | 'target' | 'stopped'>,
  log: Log,
  tokens: TargetTokens,
): WindowServerLink {
  const link = new WindowServerLink({
    ...ports,
    trusted: () => vscode.workspace.isTrusted,
    connect: (target, options) => connectTo(target, options, tokens),
    log: (text) => log.channel.info(text),
    notice: (text) => {
      log.channel.warn(text);
      void vscode.window.showWarningMessage(text);
    },
  });
  link.addDisposable(
    tokens.changed((name) => {
      if (name === link.target) link.reset();
    }),
  );
  return link;
}

async function connectTo(target: string, options: ConnectOptions, tokens: TargetTokens): Promise<ClosableConnection> {
  if (target === LOCAL) {
    const [{ connect }, { childEnvironment }] = await Promise.all([
      import('../../client/connect.ts'),
      import('./outbound.ts'),
    ]);
    return connect({ ...options, environment: childEnvironment() });
  }
  const [{ connectTarget }, { TargetFile }, env] = await Promise.all([
    import('../../client/targets/connectTarget.ts'),
    import('../../client/targets/targetFile.ts'),
    tokens.env([target]),
    import('./outbound.ts').then(({ applyOutbound }) => applyOutbound()),
  ]);
  return connectTarget(target, new TargetFile().get(target), { env: { ...process.env, ...env }, ...options });
}

async function showStopped(text: string, log: Log): Promise<void> {
  const chosen = await vscode.window.showWarningMessage(text, 'Start Server', 'Show Log');
  if (chosen === 'Start Server') await vscode.commands.executeCommand('rollout.startServer');
  else if (chosen === 'Show Log') log.channel.show(true);
}

export function createCli(log: Log, tokens: TargetTokens, settings: ServerSettings): LineCli {
  return cliOf({
    store: () => settings.store,
    target: () => settings.target,
    sandbox: () => setting('launch.sandbox'),
    tokens: (names) => tokens.env(names),
    environment: async () => (await import('./outbound.ts')).childEnvironment(),
    trusted: () => vscode.workspace.isTrusted,
    log: (text) => log.channel.debug(text),
  });
}

/**
 * VS Code's settings of proxies and certificates, and where kubeconfigs are, for this process and for those that it
 * starts. VS Code itself applies the former only to modules that extensions load by other names than ours.
 */
import os from 'node:os';
import path from 'node:path';
import * as vscode from 'vscode';
import { REMOTE_VARIABLE } from '../../common/environment.ts';
import type { OutboundSettings } from '../../net/outbound.ts';
import { setting } from '../window/settings.ts';

/** Variables for the `rollout` command and for servers of this machine. */
export function childEnvironment(): Record<string, string> {
  const { proxy, noProxy = [], direct } = outboundSettings();
  const kubeconfig = setting('kubeconfig').trim();
  const { remoteName } = vscode.env;
  const excepted = [process.env['NO_PROXY'] ?? process.env['no_proxy'] ?? '', ...noProxy].filter((text) => text !== '');
  return {
    ...(proxy === undefined || direct === true
      ? {}
      : Object.fromEntries(
          ['HTTPS_PROXY', 'HTTP_PROXY', 'https_proxy', 'http_proxy'].map((name) => [name, proxy] as const),
        )),
    ...(excepted.length === 0 ? {} : { NO_PROXY: excepted.join(','), no_proxy: excepted.join(',') }),
    ...(kubeconfig === '' ? {} : { KUBECONFIG: expanded(kubeconfig).join(path.delimiter) }),
    ...(remoteName === undefined ? {} : { [REMOTE_VARIABLE]: remoteName }),
  };
}

/** Applies the settings to connections that this process makes to targets. */
export async function applyOutbound(): Promise<void> {
  const [{ setOutbound }, { setKubeconfigs }] = await Promise.all([
    import('../../net/outbound.ts'),
    import('../../kubernetes/access/kubeconfigFiles.ts'),
  ]);
  setOutbound(outboundSettings());
  const kubeconfig = setting('kubeconfig').trim();
  setKubeconfigs({
    files: kubeconfig === '' ? undefined : expanded(kubeconfig),
    remoteName: vscode.env.remoteName,
  });
}

function outboundSettings(): OutboundSettings {
  const http = vscode.workspace.getConfiguration('http');
  const proxy = http.get<unknown>('proxy');
  const noProxy = http.get<unknown>('noProxy');
  return {
    ...(typeof proxy === 'string' && proxy.trim() !== '' ? { proxy: proxy.trim() } : {}),
    noProxy: Array.isArray(noProxy) ? noProxy.filter((host) => typeof host === 'string') : [],
    direct: http.get<unknown>('proxySupport') === 'off',
    systemCertificates: http.get<unknown>('systemCertificates') !== false,
    // Only what goes through a proxy may be intercepted by one.
    strict: http.get<unknown>('proxyStrictSSL') !== false,
  };
}

/** Returns the files of the setting, which are separated as in KUBECONFIG. */
function expanded(text: string): string[] {
  return text
    .split(path.delimiter)
    .filter((file) => file.trim() !== '')
    .map((file) => file.trim().replace(/^~(?=[\\/]|$)/, () => os.homedir()));
}

/** Banners about the page's server: it does not respond, or the window uses another target. */
import { errorText } from '../../../src/common/errors.ts';
import { useValue } from '../../data/observe.ts';
import type { Host } from '../../host/host.ts';
import { Banner } from './banner.tsx';
import { say } from './notice.tsx';

export function ServerNotices({ host }: { readonly host: Host }) {
  const server = useValue(host.server);
  return (
    <>
      {server.state !== 'ok' && (
        <Banner kind="error" text={server.text ?? 'The rollout server does not respond. Data may be out of date.'} />
      )}
      <Elsewhere host={host} />
    </>
  );
}

/** Tells that the window uses another target: the page keeps working, but the window's commands go there. */
export function Elsewhere({ host }: { readonly host: Host }) {
  const { elsewhere } = useValue(host.server);
  if (elsewhere === undefined) return null;
  const act = (what: 'use' | 'close') => (): void => {
    host.act({ do: 'elsewhere', what }).catch((error: unknown) => say(errorText(error)));
  };
  const use = elsewhere.target === undefined ? [] : [{ label: `Use ${elsewhere.target}`, onClick: act('use') }];
  return (
    <Banner kind="info" text={elsewhere.text} actions={[...use, { label: 'Close Page', onClick: act('close') }]} />
  );
}

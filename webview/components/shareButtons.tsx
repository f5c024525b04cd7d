import type { PageAction, PagePlace, PageVerb } from '../../src/protocol/page.ts';
import { Button } from './controls.tsx';

interface ShareButtonsProps {
  readonly can: ReadonlySet<PageVerb>;
  readonly place: PagePlace;
  readonly act: (action: PageAction) => void;
}

/** Copies a link to a page, and saves it as HTML, where the host can. */
export function ShareButtons({ can, place, act }: ShareButtonsProps) {
  return (
    <>
      {can.has('link') && (
        <Button kind="icon" icon="link" label="Copy link" onClick={() => act({ do: 'link', place })} />
      )}
      {can.has('save') && (
        <Button kind="icon" icon="save" label="Save as HTML" onClick={() => act({ do: 'save', place })} />
      )}
    </>
  );
}

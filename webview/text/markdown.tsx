/** Renders Markdown. HTML in it stays text, and links are opened by the host. */
import { type ComponentChild, h } from 'preact';
import { useMemo } from 'preact/hooks';
import { type Block, markdownBlocks, type Span } from './markdownBlocks.ts';

type OnLink = (url: string) => void;

export function Markdown({ text, onLink }: { readonly text: string; readonly onLink: OnLink }) {
  const blocks = useMemo(() => markdownBlocks(text), [text]);
  return <div class="markdown">{blocks.map((block, index) => blockView(block, index, onLink))}</div>;
}

function blockView(block: Block, key: number, onLink: OnLink): ComponentChild {
  switch (block.type) {
    case 'paragraph':
      return <p key={key}>{spansView(block.spans, onLink)}</p>;
    case 'heading':
      // A paragraph, so that it does not appear among the headings of the page.
      return (
        <p key={key} class="markdown-heading">
          {spansView(block.spans, onLink)}
        </p>
      );
    case 'code':
      return (
        <pre key={key} tabIndex={0}>
          <code>{block.text}</code>
        </pre>
      );
    case 'list':
      return block.ordered ? (
        <ol key={key} start={block.start}>
          {block.items.map((item, index) => (
            <li key={index}>{item.map((inner, place) => blockView(inner, place, onLink))}</li>
          ))}
        </ol>
      ) : (
        <ul key={key}>
          {block.items.map((item, index) => (
            <li key={index}>{item.map((inner, place) => blockView(inner, place, onLink))}</li>
          ))}
        </ul>
      );
    case 'quote':
      return <blockquote key={key}>{block.blocks.map((inner, index) => blockView(inner, index, onLink))}</blockquote>;
    case 'table':
      return (
        <div key={key} class="markdown-table" tabIndex={0} role="region" aria-label="Table">
          <table>
            <thead>
              <tr>
                {block.head.map((cell, index) => (
                  <th key={index} scope="col">
                    {spansView(cell, onLink)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {block.rows.map((row, index) => (
                <tr key={index}>
                  {row.map((cell, column) => (
                    <td key={column}>{spansView(cell, onLink)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      );
    case 'rule':
      return <hr key={key} />;
  }
}

function spansView(spans: readonly Span[], onLink: OnLink): ComponentChild[] {
  return spans.map((span, index) => {
    switch (span.type) {
      case 'text':
        return span.text;
      case 'code':
        return <code key={index}>{span.text}</code>;
      case 'link':
        return (
          <button key={index} type="button" class="link is-link" title={span.url} onClick={() => onLink(span.url)}>
            {spansView(span.spans, onLink)}
          </button>
        );
      case 'strong':
      case 'em':
      case 'del':
        return h(span.type, { key: index }, spansView(span.spans, onLink));
    }
  });
}

/** Replaces the value of a secret wherever it would be stored or shown. */
export const REDACTED = '[redacted]';

/**
 * Returns a function that replaces every occurrence of the secret values in a string. Values shorter than 4 characters
 * are kept: replacing them would garble the text and hide nothing.
 */
export function redactor(secrets: Iterable<string>): (text: string) => string {
  const values = [...new Set(secrets)].filter((value) => value.length >= 4).sort((a, b) => b.length - a.length);
  if (values.length === 0) return (text) => text;
  // A secret can also appear escaped in JSON.
  const forms = values.flatMap((value) => {
    const quoted = JSON.stringify(value).slice(1, -1);
    return quoted === value ? [value] : [value, quoted];
  });
  const pattern = new RegExp(forms.map((value) => value.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|'), 'g');
  return (text) => text.replace(pattern, REDACTED);
}

import { expect, test } from 'vitest';
import { recordedSelector, selectorAnnotation } from './listener-labels.ts';
import { LISTENER_SELECTOR_ANNOTATION } from './object-labels.ts';

const marked = (mark: string) => ({ annotations: { [LISTENER_SELECTOR_ANNOTATION]: mark } });

test('the selector digest on a Service counts only for the object that the Service was created for', () => {
  const meta = marked(selectorAnnotation('uid-1', 'abc'));
  expect(recordedSelector(meta, 'uid-1')).toBe('abc');
  expect(recordedSelector(meta, 'uid-2')).toBeNull();
  expect(recordedSelector({}, 'uid-1')).toBeNull();
});

test('a digest of another version is ignored, so that it does not look like an edit', () => {
  expect(recordedSelector(marked('uid-1:abc'), 'uid-1')).toBeNull();
  expect(recordedSelector(marked('uid-1:2:abc'), 'uid-1')).toBeNull();
});

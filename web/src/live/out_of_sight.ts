// Sections of a page that is drawn again and again, as long as nobody looks at them: they keep what was drawn last, and
// are drawn anew when they come into sight.
import { frameOfSection, type Section } from '../report/section';

export interface Frame {
  section: Section;
  element: HTMLElement;
  body: HTMLElement;
  isKept: boolean; // holds what was drawn of an earlier state
}

const kScreensAround = 1; // so far away a section is drawn before it is reached

function isNear(element: HTMLElement): boolean {
  const { top, bottom } = element.getBoundingClientRect();
  const reach = kScreensAround * window.innerHeight;
  return bottom >= -reach && top <= window.innerHeight + reach;
}

export function newFrame(section: Section): Frame {
  return { section, ...frameOfSection(section), isKept: false };
}

// The frame that stands in the document, where it is out of sight; else a new one.
export function frameOrKept(section: Section): Frame {
  const element = document.getElementById(section.id);
  const body = element?.querySelector<HTMLElement>(':scope > .section-body');
  if (element && body && body.childElementCount > 0 && !isNear(element)) return { section, element, body, isKept: true };
  return newFrame(section);
}

let watch: IntersectionObserver | null = null;

// Whatever was watched for an earlier picture is forgotten.
export function drawWhenSeen(frames: Frame[], draw: (frame: Frame) => void): void {
  watch?.disconnect();
  watch = new IntersectionObserver(
    (changes) => {
      for (const { isIntersecting, target } of changes) {
        const frame = frames.find((it) => it.element === target);
        if (!isIntersecting || !frame) continue;
        watch?.unobserve(target);
        draw(frame);
      }
    },
    { rootMargin: `${100 * kScreensAround}% 0px` }
  );
  for (const frame of frames) watch.observe(frame.element);
}

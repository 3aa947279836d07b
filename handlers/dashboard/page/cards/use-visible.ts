import { type Signal, useSignal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

/** Elements this close to the window are drawn. */
const MARGIN = '200px'

/** An element, and whether it is in the window or close to it. */
export const useVisible = <E extends HTMLElement>(): { readonly element: RefObject<E | null>; readonly isVisible: Signal<boolean> } => {
  const element = useRef<E>(null)
  const isVisible = useSignal(false)
  useEffect(() => {
    if (element.current === null) return
    const observer = new IntersectionObserver(
      (entries) => {
        isVisible.value = entries.at(-1)?.isIntersecting ?? false
      },
      { rootMargin: MARGIN },
    )
    observer.observe(element.current)
    return () => observer.disconnect()
  }, [])
  return { element, isVisible }
}

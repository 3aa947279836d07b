import { expect, it } from 'vitest'
import { linearExpressions, productExpressions } from '../../helpers/expressions.ts'

it('every regular expression takes linear time; `npm run test:long expressions` analyses new ones', () => {
  const linear = linearExpressions()
  expect([...productExpressions()].filter(([expression]) => !linear.has(expression))).toEqual([])
})

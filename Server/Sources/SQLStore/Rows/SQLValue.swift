/// A value of a column.
package enum SQLValue: Sendable {
    case null, integer(Int64), text(String), bytes([UInt8])
}

/// A value that takes a place of a statement. A place without a value is NULL.
package protocol SQLBindable {
    /// The value as a column holds the value.
    var sqlValue: SQLValue { get }
}

/// The values of a statement, in the order of their places; `nil` for NULL.
package typealias SQLValues = [(any SQLBindable)?]

extension SQLValue: SQLBindable { package var sqlValue: SQLValue { self } }
extension String: SQLBindable { package var sqlValue: SQLValue { .text(self) } }
extension Bool: SQLBindable { package var sqlValue: SQLValue { .integer(self ? 1 : 0) } }
extension Int: SQLBindable { package var sqlValue: SQLValue { .integer(Int64(self)) } }
extension Int64: SQLBindable { package var sqlValue: SQLValue { .integer(self) } }
extension UInt8: SQLBindable { package var sqlValue: SQLValue { .integer(Int64(self)) } }
extension UInt16: SQLBindable { package var sqlValue: SQLValue { .integer(Int64(self)) } }
extension UInt32: SQLBindable { package var sqlValue: SQLValue { .integer(Int64(self)) } }
extension Array: SQLBindable where Element == UInt8 { package var sqlValue: SQLValue { .bytes(self) } }

/// The functions of a database, which a driver fills in. Results and kinds have SQLite's numbers.
struct SQLDriver: Sendable {
    typealias Prepare =
        @convention(c) (OpaquePointer, UnsafePointer<CChar>, CInt, UnsafeMutablePointer<OpaquePointer?>) -> CInt

    /// Prepares a text of that many bytes. A text of several statements is a misuse.
    let prepare: Prepare
    let finalize: @convention(c) (OpaquePointer) -> CInt
    /// Returns the number of a statement's places for values.
    let placeCount: @convention(c) (OpaquePointer) -> CInt
    let bindNull: @convention(c) (OpaquePointer, CInt) -> CInt
    let bindInteger: @convention(c) (OpaquePointer, CInt, Int64) -> CInt
    /// Binds a text of that many bytes, which can be 0 bytes in it. The driver keeps a copy, as it does of bytes. No
    /// bytes are a value, and not NULL.
    let bindText: @convention(c) (OpaquePointer, CInt, UnsafePointer<UInt8>?, Int) -> CInt
    let bindBytes: @convention(c) (OpaquePointer, CInt, UnsafeRawPointer?, Int) -> CInt
    let clearBindings: @convention(c) (OpaquePointer) -> CInt
    let step: @convention(c) (OpaquePointer) -> CInt
    let reset: @convention(c) (OpaquePointer) -> CInt
    /// Returns a number other than 0 if a statement stands on a row.
    let isBusy: @convention(c) (OpaquePointer) -> CInt
    let columnCount: @convention(c) (OpaquePointer) -> CInt
    let columnName: @convention(c) (OpaquePointer, CInt) -> UnsafePointer<CChar>?
    let kind: @convention(c) (OpaquePointer, CInt) -> CInt
    let integer: @convention(c) (OpaquePointer, CInt) -> Int64
    /// Returns the address of a text, which stays until the statement moves or ends. An empty value can have no address.
    let text: @convention(c) (OpaquePointer, CInt) -> UnsafePointer<UInt8>?
    let bytes: @convention(c) (OpaquePointer, CInt) -> UnsafeRawPointer?
    /// Returns the number of bytes of a text, or of bytes.
    let size: @convention(c) (OpaquePointer, CInt) -> CInt
    /// Returns the number of rows that the last writing statement of a connection has changed.
    let changesCount: @convention(c) (OpaquePointer) -> CInt
    /// Returns the message of the last error of a connection.
    let message: @convention(c) (OpaquePointer) -> UnsafePointer<CChar>?

    /// The kinds of a value in a column.
    enum Kind {
        static let integer: CInt = 1
        static let text: CInt = 3
        static let bytes: CInt = 4
        static let null: CInt = 5
    }

    /// The results of the functions that return one.
    enum Result {
        static let fine: CInt = 0
        static let misuse: CInt = 21
        static let row: CInt = 100
        static let done: CInt = 101
    }
}

/// An error of the database.
package struct SQLError: Error {
    /// The result code, with SQLite's numbers: the lowest byte is the kind of the error.
    package let code: CInt
    /// The words of the database, for somebody who looks for the cause.
    package let message: String

    package init(code: CInt, message: String) {
        self.code = code
        self.message = message
    }
}

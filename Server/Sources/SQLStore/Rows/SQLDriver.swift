/// The functions and the words of a database, which a driver fills in. Results and kinds have SQLite's numbers.
package struct SQLDriver: Sendable {
    package typealias Prepare =
        @convention(c) (OpaquePointer, UnsafePointer<CChar>, CInt, UnsafeMutablePointer<OpaquePointer?>) -> CInt
    package typealias BindInteger = @convention(c) (OpaquePointer, CInt, Int64) -> CInt
    package typealias BindText = @convention(c) (OpaquePointer, CInt, UnsafePointer<UInt8>?, Int) -> CInt
    package typealias BindBytes = @convention(c) (OpaquePointer, CInt, UnsafeRawPointer?, Int) -> CInt
    package typealias ColumnName = @convention(c) (OpaquePointer, CInt) -> UnsafePointer<CChar>?
    package typealias Integer = @convention(c) (OpaquePointer, CInt) -> Int64
    package typealias Text = @convention(c) (OpaquePointer, CInt) -> UnsafePointer<UInt8>?
    package typealias Bytes = @convention(c) (OpaquePointer, CInt) -> UnsafeRawPointer?
    package typealias Message = @convention(c) (OpaquePointer) -> UnsafePointer<CChar>?
    /// Takes a statement, or a connection.
    package typealias Called = @convention(c) (OpaquePointer) -> CInt
    /// Takes a statement and the place of a value, or the number of a column.
    package typealias CalledAt = @convention(c) (OpaquePointer, CInt) -> CInt

    /// The words of the database.
    let dialect: Dialect
    /// Prepares a text of that many bytes. A text of several statements is a misuse.
    let prepare: Prepare
    let finalize: Called
    /// Returns the number of a statement's places for values.
    let placeCount: Called
    let bindNull: CalledAt
    let bindInteger: BindInteger
    /// Binds a text of that many bytes, which can be 0 bytes in it. The driver keeps a copy, as it does of bytes. No
    /// bytes are a value, and not NULL.
    let bindText: BindText
    let bindBytes: BindBytes
    let clearBindings: Called
    let step: Called
    let reset: Called
    /// Returns a number other than 0 if a statement stands on a row.
    let isBusy: Called
    let columnCount: Called
    let columnName: ColumnName
    let kind: CalledAt
    let integer: Integer
    /// Returns the address of a text, which stays until the statement moves or ends. An empty value can have no address.
    let text: Text
    let bytes: Bytes
    /// Returns the number of bytes of a text, or of bytes.
    let size: CalledAt
    /// Returns the number of rows that the last writing statement of a connection has changed.
    let changesCount: Called
    /// Returns the message of the last error of a connection.
    let message: Message

    /// Makes the table from the words and all functions.
    package init(
        dialect: Dialect, prepare: @escaping Prepare, finalize: @escaping Called, placeCount: @escaping Called,
        bindNull: @escaping CalledAt, bindInteger: @escaping BindInteger, bindText: @escaping BindText,
        bindBytes: @escaping BindBytes, clearBindings: @escaping Called, step: @escaping Called,
        reset: @escaping Called, isBusy: @escaping Called, columnCount: @escaping Called,
        columnName: @escaping ColumnName, kind: @escaping CalledAt, integer: @escaping Integer, text: @escaping Text,
        bytes: @escaping Bytes, size: @escaping CalledAt, changesCount: @escaping Called, message: @escaping Message
    ) {
        self.dialect = dialect
        self.prepare = prepare
        self.finalize = finalize
        self.placeCount = placeCount
        self.bindNull = bindNull
        self.bindInteger = bindInteger
        self.bindText = bindText
        self.bindBytes = bindBytes
        self.clearBindings = clearBindings
        self.step = step
        self.reset = reset
        self.isBusy = isBusy
        self.columnCount = columnCount
        self.columnName = columnName
        self.kind = kind
        self.integer = integer
        self.text = text
        self.bytes = bytes
        self.size = size
        self.changesCount = changesCount
        self.message = message
    }

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

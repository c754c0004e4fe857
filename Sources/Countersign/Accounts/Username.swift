import Foundation
import _Primitives

/// A person's name at a server.
///
/// An app may pass a name as the person's keyboard writes it. The SDK composes the name (Unicode's NFC), as the server
/// does, and afterwards compares its bytes. A text with more than 128 characters (UAF Protocol 1.1, `username`), or
/// with more than 30 combining marks in a row, is not a valid name.
public typealias Username = String

extension Username {
    /// The normalized spelling of a name that comes from outside; `nil` if the text is not a valid name.
    var normalizedUsername: Username? {
        // Composing a text takes time that grows with the square of a run of marks. The length of the runs is therefore
        // checked first.
        guard self.utf8.count <= 4 * 128, (1...128).contains(self.unicodeScalars.count), self.isStreamSafe else {
            return nil
        }
        return self.precomposedStringWithCanonicalMapping
    }
}

/// The identifier of an authenticator model, such as `C516#0001`.
public typealias Aaid = String

import Foundation
import _Primitives

/// A person's name at a server.
///
/// Whoever gives one to the SDK may write it as their keyboard does: the SDK composes it (Unicode's NFC), as the server
/// does, and goes by its bytes from there on. What has more than 128 characters (UAF Protocol 1.1, `username`), or more
/// than 30 combining marks in a row, is nobody's name.
public typealias Username = String

extension Username {
    /// The one spelling of a name that comes from outside; `nil` for what is nobody's name.
    var normalizedUsername: Username? {
        // Composing a text takes time that grows with the square of a run of marks: it is looked at first.
        guard self.utf8.count <= 4 * 128, (1...128).contains(self.unicodeScalars.count), self.isStreamSafe else {
            return nil
        }
        return self.precomposedStringWithCanonicalMapping
    }
}

/// What names a model of authenticators, such as `C516#0001`.
public typealias Aaid = String

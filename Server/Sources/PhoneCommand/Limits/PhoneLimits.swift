import NIOCore

/// All times, counts and sizes of the terminal phone that the SDK does not define.
enum PhoneLimits {
    // MARK: The terminal

    /// The maximum number of characters of a line. The address of a continuation is the longest line.
    static let lineCharacters = 4096
    /// The number of columns of a terminal that does not report its width.
    static let usualColumns = 72
    /// The range of columns for lines. Lines stay within this range, whatever the width of the terminal is.
    static let columns = 40...84
    /// The maximum number of letters of a typed secret.
    static let secretLetters = 64
    /// The maximum number of bytes of a typed answer.
    static let answerBytes = 1024
    /// The step of the count-down, at which the remaining seconds are shown.
    static let countDownStep: Duration = .seconds(1)
    /// The pause between two checks for a pressed key.
    static let keyboardPause: Duration = .milliseconds(20)

    // MARK: What is read

    /// The maximum size of a picture's file in bytes.
    static let pictureBytes = 64 * 1024 * 1024
    /// The maximum number of points of a picture.
    static let picturePoints = 100_000_000
    /// The maximum number of points of a picture that is read again at twice its size, if no code was found.
    static let doubledPoints = 8_000_000
    /// The maximum size of a UAF message in bytes.
    static let messageBytes = 256 * 1024

    // MARK: The network

    /// The time for a server to accept a connection.
    static let connectTime: TimeAmount = .seconds(10)
    /// The time for loading a page of a web view.
    static let pageTime: Duration = .seconds(30)
    /// The maximum size of a page of a web view in bytes.
    static let pageBytes = 4 * 1024 * 1024
    /// The time for loading a list of facets.
    static let facetListTime: Duration = .seconds(10)

    /// The time for loading a server's root key.
    static let fileTime: Duration = .seconds(10)
    /// The longest lockout after a failed attempt that a script waits for.
    static let scriptedRest: Duration = .seconds(60)

    // MARK: What is simulated

    /// The number of misses in a row after which a sensor locks.
    static let missesUntilLockout = 5
    /// The maximum shift of the clock in seconds. A larger shift would leave the validity of certificates and messages
    /// altogether.
    static let clockSkew = 86_400
}

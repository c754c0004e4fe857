import NIOCore

/// Every time, count and size of the terminal phone that the SDK does not have, in one place.
enum PhoneLimits {
    // MARK: The terminal

    /// The most characters of a line; an address of a continuation has the most.
    static let lineCharacters = 4096
    /// Columns of a terminal that does not say how wide it is.
    static let usualColumns = 72
    /// Columns that are written in: lines are no shorter and no longer, whatever the terminal has.
    static let columns = 40...84
    /// Letters of a secret that can be typed.
    static let secretLetters = 64
    /// Bytes of an answer that can be typed.
    static let answerBytes = 1024
    /// How often the seconds that are left are shown, which are counted by it.
    static let countDownStep: Duration = .seconds(1)
    /// How often it is looked whether a key was pressed.
    static let keyboardPause: Duration = .milliseconds(20)

    // MARK: What is read

    /// Bytes of a picture's file.
    static let pictureBytes = 64 * 1024 * 1024
    /// Points of a picture.
    static let picturePoints = 100_000_000
    /// Points of a picture that is looked at again in twice its size, where no code was found in it.
    static let doubledPoints = 8_000_000
    /// Bytes of a UAF message.
    static let messageBytes = 256 * 1024

    // MARK: The network

    /// How long a server can take to accept a connection.
    static let connectTime: TimeAmount = .seconds(10)
    /// How long a page of a web view can take.
    static let pageTime: Duration = .seconds(30)
    /// Bytes of a page of a web view.
    static let pageBytes = 4 * 1024 * 1024
    /// How long a list of facets can take.
    static let facetListTime: Duration = .seconds(10)

    /// How long a server's root key can take.
    static let fileTime: Duration = .seconds(10)
    /// The longest rest after a failed attempt that a script sits out.
    static let scriptedRest: Duration = .seconds(60)

    // MARK: What is simulated

    /// Misses in a row after which a sensor locks.
    static let missesUntilLockout = 5
    /// Seconds by which the clock can be moved. More would move it out of certificates' and messages' time altogether.
    static let clockSkew = 86_400
}

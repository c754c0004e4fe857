/// The bounds of password accounts in one place: for typed texts, for the cost of a hash, and for texts from other
/// systems.
///
/// The bounds are below the server's `Limits`, which this module cannot see. The server sets the bounds that an
/// operator can choose.
public struct PasswordLimits: Sendable, Equatable {
    // MARK: Texts

    /// The minimum number of characters (Unicode scalars, normalised) of a new password. Below it the password is
    /// refused, in words. A password from elsewhere may be shorter.
    public var fewestCharacters = 8
    /// The maximum number of characters of any password. A longer text is no password.
    public var mostCharacters = 256

    // MARK: Hashing

    /// The cost of a new hash: 19 MiB, two passes.
    public var hashing = Argon2Parameters(memoryKiB: 19 * 1024, passes: 2, lanes: 1)
    /// The number of threads that hash. Past it hashes wait. More threads than processors have no benefit, and each
    /// thread takes the memory of a hash while working.
    public var hashingThreads = 2
    /// The maximum number of hashes that wait for a thread. Past it the network with the most waiting hashes gives up a
    /// place, and the loser is busy, which is 503 for its caller.
    public var waitingHashes = 1000
    /// The maximum number of waiting hashes of one network. Past it the network gives up a place for each new hash, and
    /// the loser is busy.
    public var waitingHashesPerNetwork = 250
    /// The time after which a caller that met a full queue is told to try again.
    public var busyRetry: Duration = .seconds(10)
    /// The priority by which the hashing threads give way to other threads, of this process and of others (`nice`). At
    /// 5, if all processors are busy, each hashing thread has a third of another thread's time. 0 does not give way.
    public var niceness: Int32 = 5

    // MARK: Hashes that are stored or imported

    /// The maximum memory of a stored hash. A hash that needs more is refused when read.
    public var storedMemoryKiB = 128 * 1024
    /// The maximum of memory times passes of a stored hash: about a quarter of a second. For scrypt the product is
    /// twice the memory times the parallelism. A hash that needs more is refused when read.
    public var storedWorkKiB = 512 * 1024
    /// The maximum number of lanes of a stored hash. A hash with more is refused when read.
    public var storedLanes = 16
    /// The maximum cost of an imported bcrypt hash, as a power of two: about a second. A hash that costs more is
    /// refused when read.
    public var storedBcryptCost = 14
    /// The maximum number of iterations of an imported PBKDF2 hash, times the blocks of its key: about a second. An
    /// iteration of SHA-512 counts as two. A hash with more is refused when read.
    public var storedPBKDF2Iterations = 2_000_000
    /// The maximum number of rounds of an imported sha512-crypt hash: about a second for the longest password that is
    /// judged by such a hash. A hash with more is refused when read.
    public var storedSHA512CryptRounds = 1_000_000

    // MARK: Second factors

    /// The length of a step of time-based codes, in seconds. Each step has its own code.
    public var totpPeriodSeconds: Int64 = 30
    /// The number of digits of a time-based code.
    public var totpDigits = 6
    /// The number of steps before and after the present step whose codes are accepted, because phones' clocks can be
    /// wrong.
    public var totpWindow: Int64 = 1
    /// The number of recovery codes that a person gets at a time.
    public var recoveryCodes = 10
    /// The number of letters of a recovery code. Each letter carries five bits.
    public var recoveryCodeLetters = 13

    /// Creates the default bounds.
    public init() {}

    /// The bounds that cannot be set.
    enum Fixed {
        /// The maximum number of UTF-8 bytes of a character before composition. A longer text is refused before
        /// normalisation.
        static let bytesPerTypedCharacter = 16
        /// The maximum number of bytes of a stored hash's text. A longer text is refused unread.
        static let storedTextBytes = 512
        /// The possible numbers of digits of a number in a stored hash, such as a cost. The largest number of 32 bits
        /// has ten digits.
        static let storedNumberDigits = 1...10
        /// The number of bytes of the salt of a new hash, and below of its tag.
        static let saltBytes = 16
        static let tagBytes = 32
        /// The number of bytes of a stored salt: from the library's minimum to more than any real salt has.
        static let storedSaltBytes = 8...64
        /// The number of bytes of a stored tag. A shorter tag could match a guess by chance.
        static let storedTagBytes = 16...64
        /// The memory that is counted for a hash of a function without a memory cost: its tables and the library's own
        /// memory.
        static let smallMemoryKiB = 64
        /// The number of bytes of a password that bcrypt sees.
        static let bcryptBytes = 72
        /// The maximum number of bytes of a password that sha512-crypt judges, because the time grows with the bytes. A
        /// longer password is wrong.
        static let sha512CryptBytes = 128
        /// The possible numbers of rounds of sha512-crypt, by its specification.
        static let sha512CryptRounds = 1000...999_999_999
        /// The number of letters of a sha512-crypt salt.
        static let sha512CryptSaltLetters = 1...16
        /// The number of bytes of the salt of a PBKDF2 or scrypt hash. Such a hash is replaced at the first sign-in,
        /// and a short salt is no reason to lose the person's password.
        static let importedSaltBytes = 1...64
        /// The block sizes of scrypt that the library accepts with each cost.
        static let scryptBlockSizes = 1...16

        /// The number of bytes of a block in a list of breached passwords.
        static let breachedBlockBytes = 4096
        /// The number of bytes that are read at a time from the source text of such a list.
        static let breachedPieceBytes = 1024 * 1024
        /// The maximum number of bytes of a line in the source text. A text with a longer line is no such text.
        static let breachedLineBytes = 64
        /// The number of digits of the count in a line. A longer count would not fit 64 bits.
        static let breachedCountDigits = 1...18

        /// The number of bytes of a new secret for time-based codes: 160 bits (RFC 4226, section 4).
        static let totpSecretBytes = 20
        /// The number of bytes of a secret from elsewhere. 80 bits were usual once.
        static let totpStoredSecretBytes = 10...128
        /// The possible numbers of digits of a time-based code.
        static let totpDigits = 6...8
        /// The number of letters of recovery codes from before they had 65 bits. A code of this length counts until its
        /// person gets other codes.
        static let formerRecoveryCodeLetters = 12
        /// The maximum number of characters of a typed code that is read: the code, with room for spaces.
        static let typedCodeBytes = 64
        /// The maximum number of characters of a name in the address for an authenticator app.
        static let totpLabelBytes = 128
    }
}

/// The cost of an Argon2 hash (RFC 9106, section 3.1).
public struct Argon2Parameters: Sendable, Hashable {
    /// The memory, in KiB.
    public var memoryKiB: Int
    /// The number of passes over the memory.
    public var passes: Int
    /// The number of lanes: parts of the memory that could be filled at the same time. Here one lane is filled after
    /// another.
    public var lanes: Int

    /// Creates a cost. The hashing and the reading check for impossible costs.
    public init(memoryKiB: Int, passes: Int, lanes: Int) {
        self.memoryKiB = memoryKiB
        self.passes = passes
        self.lanes = lanes
    }
}

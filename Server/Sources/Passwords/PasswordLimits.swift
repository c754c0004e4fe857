/// The bounds of password accounts, in one place: what people type, what a hash may cost, what is read of other
/// systems.
///
/// It stands below the server's `Limits`, which cannot be seen from here. What an operator is to set, the server sets.
public struct PasswordLimits: Sendable, Equatable {
    // MARK: Texts

    /// Characters (Unicode scalars, normalised) that a new password has at least. Below it it is refused, in words. What
    /// was set elsewhere may have fewer.
    public var fewestCharacters = 8
    /// Characters that any password has at most. Past it a text is no password.
    public var mostCharacters = 256

    // MARK: Hashing

    /// What a hash made now costs: 19 MiB, two passes.
    public var hashing = Argon2Parameters(memoryKiB: 19 * 1024, passes: 2, lanes: 1)
    /// Threads that hash. More than there are processors bring nothing; each takes the memory of a hash while it works.
    /// Past it hashes wait.
    public var hashingThreads = 2
    /// Hashes that wait for a thread. Past it: busy, which is 503 to whoever asked.
    public var waitingHashes = 1000
    /// Hashes of one network among them. Past it the network gives up a place for each that comes: that one is busy.
    public var waitingHashesPerNetwork = 250
    /// After how long somebody who met a full queue is told to come again.
    public var busyRetry: Duration = .seconds(10)
    /// By how much the hashing threads give way to other threads, of this process and of others (`nice`): at 5, where
    /// all processors are wanted, each has a third of what any other thread has. 0: not at all.
    public var niceness: Int32 = 5

    // MARK: Hashes that are stored or imported

    /// Memory that a stored hash may take. Past it the hash is refused when it is read.
    public var storedMemoryKiB = 128 * 1024
    /// Memory times passes of it: about a quarter of a second; of scrypt twice the memory times the parallelism. Past it the
    /// hash is refused when it is read.
    public var storedWorkKiB = 512 * 1024
    /// Lanes of it. Past it the hash is refused when it is read.
    public var storedLanes = 16
    /// The cost of an imported bcrypt hash, as a power of two: about a second. Past it the hash is refused when it is
    /// read.
    public var storedBcryptCost = 14
    /// Iterations of an imported hash by PBKDF2, times the blocks of its key; one of SHA-512 counts as two. It is about a
    /// second. Past it the hash is refused when it is read.
    public var storedPBKDF2Iterations = 2_000_000
    /// Rounds of an imported hash by sha512-crypt: about a second for the longest password that is judged by such a hash. Past
    /// it the hash is refused when it is read.
    public var storedSHA512CryptRounds = 1_000_000

    // MARK: Second factors

    /// Seconds that one time-based code is valid.
    public var totpPeriodSeconds: Int64 = 30
    /// Digits of a time-based code.
    public var totpDigits = 6
    /// Steps before and after the present one whose codes are taken: clocks of phones are wrong.
    public var totpWindow: Int64 = 1
    /// Recovery codes that a person is given at a time.
    public var recoveryCodes = 10
    /// Letters of a recovery code; each carries five bits.
    public var recoveryCodeLetters = 12

    /// The bounds as they are above.
    public init() {}

    /// What nobody sets.
    enum Fixed {
        /// UTF-8 bytes that a character can have before it is composed. A longer text is refused before it is
        /// normalised.
        static let bytesPerTypedCharacter = 16
        /// Bytes of a stored hash's text. A longer one is refused unread.
        static let storedTextBytes = 512
        /// Digits of a number in it: as many as the largest of 32 bits has.
        static let storedNumberDigits = 1...10
        /// Bytes of the salt and of the tag of a hash made now.
        static let saltBytes = 16
        static let tagBytes = 32
        /// Bytes of a stored salt: the least that the library takes, and more than anybody's.
        static let storedSaltBytes = 8...64
        /// Bytes of a stored tag. Fewer would let a guess be right by chance.
        static let storedTagBytes = 16...64
        /// The memory that a hash of a function without a cost of memory counts for: its tables and the library's own memory.
        static let smallMemoryKiB = 64
        /// Bytes of a password that bcrypt looks at.
        static let bcryptBytes = 72
        /// Bytes of a password that is judged by sha512-crypt, whose time grows with them. A longer password is wrong.
        static let sha512CryptBytes = 128
        /// The rounds that sha512-crypt has, by its specification.
        static let sha512CryptRounds = 1000...999_999_999
        /// The letters of its salt.
        static let sha512CryptSaltLetters = 1...16
        /// Bytes of the salt of a hash by PBKDF2 or scrypt. Such a hash is made anew at the first sign-in, and a short salt is
        /// no reason to lose the person's password.
        static let importedSaltBytes = 1...64
        /// The block sizes of scrypt that the library takes with each cost.
        static let scryptBlockSizes = 1...16

        /// Bytes of a block of a list of breached passwords.
        static let breachedBlockBytes = 4096
        /// Bytes that are read at a time of the text that such a list is made of.
        static let breachedPieceBytes = 1024 * 1024
        /// Bytes of a line of that text. A longer one is no such text's.
        static let breachedLineBytes = 64
        /// Digits of the count in it. More would not fit 64 bits.
        static let breachedCountDigits = 1...18

        /// Bytes of a new secret for time-based codes: 160 bits (RFC 4226, section 4).
        static let totpSecretBytes = 20
        /// Bytes of a secret from elsewhere: 80 bits were usual once.
        static let totpStoredSecretBytes = 10...128
        /// Digits that a time-based code can have.
        static let totpDigits = 6...8
        /// Characters of a typed code that are read: all that it has, and as many spaces as anybody puts in.
        static let typedCodeBytes = 64
        /// Characters of a name in the address that an authenticator app is given.
        static let totpLabelBytes = 128
    }
}

/// What a hash by Argon2 costs (RFC 9106, section 3.1).
public struct Argon2Parameters: Sendable, Hashable {
    /// Memory, in KiB.
    public var memoryKiB: Int
    /// Passes over the memory.
    public var passes: Int
    /// Lanes: parts of the memory that could be filled at the same time. They are filled one after another here.
    public var lanes: Int

    /// These costs. Whether they can be is judged where something is hashed or read.
    public init(memoryKiB: Int, passes: Int, lanes: Int) {
        self.memoryKiB = memoryKiB
        self.passes = passes
        self.lanes = lanes
    }
}

/// A language of the pages and letters: the words of every code of this target.
///
/// A language is one file. The compiler demands each sentence: a language without a function does not conform, and a
/// `switch` without a code does not compile.
public protocol Language: Sendable {
    /// The name of the language (RFC 5646), as in the attribute `lang` of a page.
    var tag: String { get }

    /// Returns the words that several pages have.
    func words(_ text: SharedText) -> Sentence
    /// Returns the words of a form's fields, and of what stands beside the fields.
    func words(_ text: FieldText) -> Sentence
    /// Returns the reason why a form is shown once more.
    func words(_ problem: FormProblem) -> Sentence
    /// Returns the words of the pages of a sign-in.
    func words(_ text: SignInText) -> Sentence
    /// Returns the words of a way to sign in, on the page on which a person chooses a way.
    func words(_ way: SignInWayText) -> Sentence
    /// Returns the words of a form by which a person signs in.
    func message(_ question: SignInQuestion) -> Message
    /// Returns the words of the pages on which a person decides: about a service's data, terms, a connection.
    func words(_ text: DecisionText) -> Sentence
    /// Returns the words of the pages behind links for the app and for the first administrator.
    func words(_ text: OpeningText) -> Sentence
    /// Returns the words of the pages of a person's identity.
    func words(_ text: IdentityText) -> Sentence
    /// Returns the words of the page that personalises a device.
    func words(_ text: ActivationText) -> Sentence
    /// Returns the words of the list of an account's changes.
    func words(_ text: ChangeText) -> Sentence

    /// Returns the words for a state of a sign-in, or of a change that a phone confirms.
    func words(_ progress: Progress, of matter: ProgressMatter) -> ProgressWords
    /// Returns the words of a page that tells a result.
    func message(_ notice: Notice) -> Message
    /// Returns the words of a page that tells of a failed request.
    func message(_ failure: Failure) -> Message
    /// Returns the words of a page that asks something.
    func message(_ question: Question) -> Message
    /// Returns the subject and the text of a letter.
    func letter(_ letter: Letter) -> LetterWords
}

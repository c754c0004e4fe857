import Countersign
import Foundation

/// The language in which the app tells of errors: German with two sentences of the app's own, or a language of the SDK.
func messageLanguage(for wishes: [String] = Locale.preferredLanguages) -> any MessageLanguage {
    let german = ReplacedMessages(
        GermanMessages(),
        events: { $0 == .accountLocked ? "Ihr Konto bei der Musterbank ist gesperrt." : nil },
        advices: { $0 == .askService ? "Rufen Sie die Musterbank an: 030 123456." : nil })
    return MessageCatalogue.standard.with(german).language(for: wishes)
}

/// The text for a person about any error that reaches the app's screens.
func text(about error: any Error, in language: any MessageLanguage) -> String {
    guard let error = error as? any ExplainedError else {
        return "\(language.words(.unforeseen).text) \(language.words(.tellMakers).text)"
    }
    return error.message(in: language).text
}

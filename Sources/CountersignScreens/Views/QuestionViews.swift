#if canImport(SwiftUI)
    import Foundation
    import SwiftUI

    /// A PIN pad. The countdown is drawn from the deadline each second, and from the deadline alone.
    @MainActor
    struct PinPadView: View {
        private let pad: PinPad
        private let questions: ScreenQuestions
        private let language: ScreenLanguage

        init(_ pad: PinPad, _ questions: ScreenQuestions, _ language: ScreenLanguage) {
            self.pad = pad
            self.questions = questions
            self.language = language
        }

        var body: some View {
            VStack(spacing: 16) {
                ScreenTitle(text: self.language.text(self.pad.isNew ? .newPinTitle : .pinTitle))
                Text(verbatim: self.pad.username)
                Text(verbatim: String(repeating: "●", count: self.pad.count)).font(.title)
                    .accessibilityLabel(Text(verbatim: self.language.text(.digitsTyped(self.pad.count))))
                if let message = self.language.message(self.pad.error) { Text(verbatim: message) }
                if let tries = self.pad.remainingTries {
                    Text(verbatim: self.language.text(tries == 1 ? .lastTry : .triesLeft(tries)))
                }
                DigitPad(questions: self.questions, language: self.language)
                TimelineView(.periodic(from: self.pad.deadline ?? .distantPast, by: 1)) { context in
                    let seconds = self.pad.remainingSeconds(at: context.date)
                    VStack(spacing: 8) {
                        if seconds > 0 { Text(verbatim: self.language.text(.wait(seconds: seconds))) }
                        Button(self.language.text(.goOn)) { self.questions.goOn() }
                            .disabled(seconds > 0 || !self.pad.isComplete)
                    }
                }
            }
        }
    }

    /// A content to approve, with the payment's table.
    @MainActor
    struct ApprovalView: View {
        private let approval: Approval
        private let questions: ScreenQuestions
        private let language: ScreenLanguage

        init(_ approval: Approval, _ questions: ScreenQuestions, _ language: ScreenLanguage) {
            self.approval = approval
            self.questions = questions
            self.language = language
        }

        var body: some View {
            VStack(spacing: 16) {
                ScreenTitle(text: self.language.text(self.approval.title))
                switch self.approval.content {
                case .payment(let rows): ScreenTable(rows: rows, language: self.language)
                case .text(let text): Text(verbatim: text).textSelection(.enabled)
                case .picture(let data): ConfirmedPicture(data: data, label: self.language.text(.picture))
                }
                ScreenTable(rows: self.approval.request, language: self.language)
                Button(self.language.text(.approve)) { self.questions.approve(self.approval) }
                    .disabled(!self.isVisible)
            }
        }

        /// `false` for a picture that the system does not open: the person could not see the content.
        private var isVisible: Bool {
            guard case .picture(let data) = self.approval.content else { return true }
            return Image(pictureOf: data) != nil
        }
    }

    /// A picture to confirm; empty for a picture that the system does not open.
    @MainActor
    struct ConfirmedPicture: View {
        let data: Data
        let label: String

        var body: some View {
            if let picture = Image(pictureOf: self.data) {
                picture.resizable().scaledToFit().accessibilityLabel(Text(verbatim: self.label))
            }
        }
    }

    /// The entry of a number.
    @MainActor
    struct NumberEntryView: View {
        private let entry: NumberEntry
        private let questions: ScreenQuestions
        private let language: ScreenLanguage

        init(_ entry: NumberEntry, _ questions: ScreenQuestions, _ language: ScreenLanguage) {
            self.entry = entry
            self.questions = questions
            self.language = language
        }

        var body: some View {
            VStack(spacing: 16) {
                ScreenTitle(text: self.language.text(.numberTitle))
                Text(verbatim: self.language.text(.numberAdvice))
                ScreenTable(rows: self.entry.request, language: self.language)
                Text(verbatim: self.entry.shown).font(.title)
                if let message = self.language.message(self.entry.error) { Text(verbatim: message) }
                DigitPad(questions: self.questions, language: self.language)
                Button(self.language.text(.goOn)) { self.questions.goOn() }.disabled(self.entry.number == nil)
            }
        }
    }

    /// A choice of an account or an authenticator.
    @MainActor
    struct ScreenChoiceView: View {
        private let choice: ScreenChoice
        private let questions: ScreenQuestions
        private let language: ScreenLanguage

        init(_ choice: ScreenChoice, _ questions: ScreenQuestions, _ language: ScreenLanguage) {
            self.choice = choice
            self.questions = questions
            self.language = language
        }

        var body: some View {
            VStack(spacing: 16) {
                ScreenTitle(text: self.language.text(self.choice.title))
                ForEach(self.choice.options) { option in
                    Button(self.words(option)) { self.questions.choose(option) }
                }
            }
        }

        private func words(_ option: ScreenChoice.Option) -> String {
            let name = option.label.map(self.language.text) ?? option.id
            return option.server.map { "\(name), \($0)" } ?? name
        }
    }
#endif

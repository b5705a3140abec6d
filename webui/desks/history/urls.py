"""Routes of the desk History."""

from django.urls import path

from webui.desks.history import answers, asking, differences, reviews, views

urlpatterns = [
    path("history/", views.history, name="history"),
    path("history/ask", asking.ask, name="history-ask"),
    path("history/requests/<int:number>/", views.request_page, name="history-request"),
    path("history/requests/<int:number>/act", views.act, name="history-act"),
    path("history/differences/", differences.comparisons, name="history-differences"),
    path("history/differences/<int:number>/", differences.difference, name="history-difference"),
    path("history/differences/<int:number>/key", differences.key, name="history-key"),
    path("history/reviews/", reviews.review_list, name="history-reviews"),
    path("history/reviews/<int:number>/", reviews.review, name="history-review"),
    path("history/reviews/<int:number>/act", reviews.decide, name="history-review-act"),
    path("history/proofs/", views.proofs, name="history-proofs"),
    path("history/questions/", answers.questions, name="history-questions"),
    path("history/answers/<int:number>/", answers.answer, name="history-answer"),
    path("history/answers/<int:number>.csv", answers.answer_csv, name="history-answer-csv"),
]
